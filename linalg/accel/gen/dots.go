package main

import "fmt"

// dotRows is the number of rows of A in a tile of inner products with four rows of B.
func (g *gen) dotRows() int {
	if g.wide() {
		return 4
	}
	return 2
}

var (
	dotA = []string{"AX", "BX", "DX", "SI"}
	dotB = []string{"DI", "R8", "R9", "R12"}
)

// dotTile leaves in register 4r+c the partial sums, lane by lane, of the products of row r of A
// with row c of B over the bytes from 0 to R11, a multiple of the vector, and if mask is not empty
// over one vector more under the mask. R10 is the index.
func (g *gen) dotTile(name, mask string, rows, cols int) {
	w := g.w
	ra, rb := 4*rows, 4*rows+rows
	if g.wide() {
		ra, rb = 16, 20
	}
	for i := range 4 * rows {
		if i%4 < cols {
			g.zero(i)
		}
	}
	step := func(mask string) {
		for r := range rows {
			g.ldm(fmt.Sprintf("(%s)(R10*1)", dotA[r]), mask, ra+r)
		}
		for c := range cols {
			g.ldm(fmt.Sprintf("(%s)(R10*1)", dotB[c]), mask, rb)
			for r := range rows {
				g.p("VFMADD231PD %s, %s, %s", g.v(ra+r), g.v(rb), g.v(4*r+c))
			}
		}
	}
	g.p("XORQ R10, R10")
	g.p("CMPQ R10, R11")
	g.lj("JGE", name+"tail")
	g.l(name + "k")
	step("")
	g.p("ADDQ $%d, R10", 8*w)
	g.p("CMPQ R10, R11")
	g.lj("JLT", name+"k")
	g.l(name + "tail")
	if mask != "" {
		g.p("TESTQ $%d, %s", w-1, g.a("k"))
		g.lj("JZ", name+"sums")
		step(mask)
		g.l(name + "sums")
	}
}

// dotReduce adds up the lanes of what dotTile left. On AVX-512 the four sums of rows 2i and 2i+1
// end up in the halves of register 8i, on AVX2 those of row i in register 4i. A lane is added to
// its neighbour, then such pairs, so that the order does not depend on the tile.
func (g *gen) dotReduce(rows int) {
	if !g.wide() {
		for r := range rows {
			g.fourSums(4*r, 0)
		}
		return
	}
	for a := 0; a < 4*rows; a += 8 {
		for i := 0; i < 8; i += 2 {
			g.pairs(a+i, a+i+1, a+i, 16+i)
		}
		g.halves(a, a+2, a, 16)
		g.halves(a+4, a+6, a+4, 18)
		g.quarters(a, a+4, a, 16)
	}
}

// fourSums adds up the lanes of registers a to a+3, in the order of dotReduce, to the first four
// lanes of register a. On AVX-512 tmp and tmp+1 are lost.
func (g *gen) fourSums(a, tmp int) {
	if g.wide() {
		g.pairs(a, a+1, a, tmp)
		g.pairs(a+2, a+3, a+2, tmp)
		g.halves(a, a+2, a, tmp)
		g.quarters(a, a, a, tmp)
		return
	}
	g.p("VHADDPD %s, %s, %s", y(a+1), y(a), y(a))
	g.p("VHADDPD %s, %s, %s", y(a+3), y(a+2), y(a+2))
	g.p("VPERM2F128 $0x20, %s, %s, %s", y(a+2), y(a), y(a+1))
	g.p("VPERM2F128 $0x31, %s, %s, %s", y(a+2), y(a), y(a+3))
	g.p("VADDPD %s, %s, %s", y(a+3), y(a+1), y(a))
}

// spreadSum sets every lane of register a to their sum, on AVX-512.
func (g *gen) spreadSum(a, tmp int) {
	g.pairs(a, a, a, tmp)
	g.halves(a, a, a, tmp)
	g.quarters(a, a, a, tmp)
}

// pairs, halves and quarters are the steps of the sums over 8 lanes: pairs makes [a0+a1 b0+b1 a2+a3
// b2+b3 …], halves adds the upper half of such a vector to the lower and puts two of these
// together, quarters does the same with neighbouring 128-bit parts.
func (g *gen) pairs(a, b, dst, tmp int) {
	g.p("VUNPCKLPD %s, %s, %s", g.v(b), g.v(a), g.v(tmp))
	g.p("VUNPCKHPD %s, %s, %s", g.v(b), g.v(a), g.v(tmp+1))
	g.p("VADDPD %s, %s, %s", g.v(tmp+1), g.v(tmp), g.v(dst))
}

func (g *gen) halves(a, b, dst, tmp int) {
	g.p("VSHUFF64X2 $0x44, %s, %s, %s", g.v(b), g.v(a), g.v(tmp))
	g.p("VSHUFF64X2 $0xEE, %s, %s, %s", g.v(b), g.v(a), g.v(tmp+1))
	g.p("VADDPD %s, %s, %s", g.v(tmp+1), g.v(tmp), g.v(dst))
}

func (g *gen) quarters(a, b, dst, tmp int) {
	g.p("VSHUFF64X2 $0x88, %s, %s, %s", g.v(b), g.v(a), g.v(tmp))
	g.p("VSHUFF64X2 $0xDD, %s, %s, %s", g.v(b), g.v(a), g.v(tmp+1))
	g.p("VADDPD %s, %s, %s", g.v(tmp+1), g.v(tmp), g.v(dst))
}

// kLimit splits k, in reg, into whole vectors, whose bytes go to R11, and the
// lanes left, of which a mask is made. CX and R10 are lost.
func (g *gen) kLimit(reg string, ki, vi int) string {
	g.p("MOVQ %s, R11", reg)
	g.p("ANDQ $%d, R11", g.w-1)
	mask := g.laneMask("R11", "R10", ki, vi)
	g.p("MOVQ %s, R11", reg)
	g.p("ANDQ $-%d, R11", g.w)
	g.p("SHLQ $3, R11")
	return mask
}
