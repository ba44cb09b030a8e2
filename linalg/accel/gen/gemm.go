package main

import "fmt"

// rowHeights are the numbers of rows of the register tiles, in the order in which a panel is cut into them.
func (g *gen) rowHeights() []int {
	if g.wide() {
		return []int{8, 4, 2, 1}
	}
	return []int{4, 2, 1}
}

// tiles writes the tiles of a panel whose number of vectors is in reg, for each number of vectors in descending order of
// rows: next is the label of the one to go on with where rows are missing, and the first is to be repeated.
func (g *gen) tiles(reg string, tile func(mr, nv int, next string, again bool)) {
	g.p("CMPQ %s, $2", reg)
	for i, jump := range []string{"JLT", "JEQ"} {
		g.lj(jump, fmt.Sprintf("v%dm%d", i+1, g.rowHeights()[0]))
	}
	for nv := 3; nv >= 1; nv-- {
		g.heights(nv, tile)
		if nv > 1 {
			g.lj("JMP", "done")
		}
	}
	g.l("done")
	g.ret()
}

// heights writes the tiles of nv vectors.
func (g *gen) heights(nv int, tile func(mr, nv int, next string, again bool)) {
	for i, mr := range g.rowHeights() {
		next := fmt.Sprintf("v%dm%d", nv, mr/2)
		if mr == 1 {
			next = "done"
		}
		tile(mr, nv, next, i == 0)
	}
}

// rowAddr is the address of row r of a tile whose rows 0 to 3 are addressed from
// p and rows 4 to 7 from q, by the stride in r8 and three times it in r9.
func rowAddr(r int, p, q, r8, r9 string) string {
	if r >= 4 {
		p = q
	}
	switch r % 4 {
	case 1:
		return fmt.Sprintf("(%s)(%s*1)", p, r8)
	case 2:
		return fmt.Sprintf("(%s)(%s*2)", p, r8)
	case 3:
		return fmt.Sprintf("(%s)(%s*1)", p, r9)
	}
	return fmt.Sprintf("(%s)", p)
}

// tileRegs are the registers of a tile of mr rows and nv vectors: accumulators
// from 0, then the vectors of B, then the broadcast entry of A.
func (g *gen) tileRegs(mr, nv int) (b, bc int) {
	if g.wide() {
		return 24, 30
	}
	return mr * nv, mr*nv + nv
}

// fma applies op, VFMADD231PD or VFNMADD231PD, to the nv registers from dst on, the entry in
// memory, which is broadcast to register bc, and the registers from src on.
func (g *gen) fma(op, entry string, src, bc, dst, nv int) {
	g.p("VBROADCASTSD %s, %s", entry, g.v(bc))
	for j := range nv {
		g.p("%s %s, %s, %s", op, g.v(src+j), g.v(bc), g.v(dst+j))
	}
}

func gemmPanel(g *gen) {
	w := g.w
	g.text("gemmPanel", "m int, k int, alpha float64, a *float64, ars int, acs int, b *float64, brs int, c *float64, ldc int, n int, set int", fmt.Sprintf(`
adds alpha·A·B to the m×n matrix C, 0 < n ≤ %d, m, k > 0, for A with
entry (i, l) at a[i·ars+l·acs], B and C row-major with strides brs and ldc.
Every entry of C receives alpha times one sum over l from left to right; if set
is not 0 it is that, whatever it was before.

Rows are taken %d at a time, then by halves; a tile of rows and of up to three
vectors of columns is summed in registers. For each l the vectors of row l of B
are loaded and every entry of A in the tile is broadcast once. The last vector
is read and written under a mask of the lanes below n. Without masks (AVX2,
three vectors) n must be %d.

SI, R12: tile of A, of C. R8, R9: row stride of A in bytes, three times that.
R10: step of A for l, R11: row stride of B, R13: of C. CX: rows left.
AX, BX: entry l of rows 0-3 and 4-7. DX: row l of B. R14: l, counted down.`, 3*w, g.rowHeights()[0], 3*w))
	g.load("n AX")
	g.c("Vectors of columns, and the lanes of the last.")
	g.p("LEAQ %d(AX), DX", w-1)
	g.p("SHRQ $%d, DX", map[int]int{8: 3, 4: 2}[w])
	g.p("LEAQ -1(DX), BX")
	g.p("IMULQ $%d, BX", w)
	g.p("SUBQ BX, AX")
	mask := g.laneMask("AX", "BX", 1, 15)
	g.load("m CX, a SI, ars R8, acs R10, b DI, brs R11, c R12, ldc R13")
	for _, r := range []string{"R8", "R10", "R11", "R13"} {
		g.p("SHLQ $3, %s", r)
	}
	g.p("LEAQ (R8)(R8*2), R9")
	if g.wide() {
		g.p("VBROADCASTSD %s, Z31", g.a("alpha"))
	}
	g.tiles("DX", func(mr, nv int, next string, again bool) { gemmTile(g, mr, nv, mask, next, again) })
}

func gemmTile(g *gen, mr, nv int, mask, next string, again bool) {
	name := fmt.Sprintf("v%dm%d", nv, mr)
	g.l(name)
	g.p("CMPQ CX, $%d", mr)
	g.lj("JLT", next)
	rb, rbc := g.tileRegs(mr, nv)
	if !g.wide() && nv == 3 {
		mask = ""
	}
	m := func(j int) string {
		if j == nv-1 {
			return mask
		}
		return ""
	}
	for i := range mr * nv {
		g.zero(i)
	}
	g.p("MOVQ SI, AX")
	if mr == 8 {
		g.p("LEAQ (SI)(R8*4), BX")
	}
	if mr >= 4 {
		g.c("Fetch the tile of C ahead.")
		g.p("MOVQ R12, DX")
		for r := range mr {
			for o := 0; o < 8*g.w*nv; o += 64 {
				g.p("PREFETCHT0 %d(DX)", o)
			}
			if r < mr-1 {
				g.p("ADDQ R13, DX")
			}
		}
	}
	g.p("MOVQ DI, DX")
	g.p("MOVQ %s, R14", g.a("k"))
	g.l(name + "k")
	for j := range nv {
		g.ldm(fmt.Sprintf("%d(DX)", 8*g.w*j), m(j), rb+j)
	}
	for r := range mr {
		g.fma("VFMADD231PD", rowAddr(r, "AX", "BX", "R8", "R9"), rb, rbc, r*nv, nv)
	}
	g.p("ADDQ R10, AX")
	if mr == 8 {
		g.p("ADDQ R10, BX")
	}
	g.p("ADDQ R11, DX")
	g.p("DECQ R14")
	g.lj("JNZ", name+"k")
	al := 31
	if !g.wide() {
		al = rbc
		g.p("VBROADCASTSD %s, %s", g.a("alpha"), g.v(al))
	}
	g.p("MOVQ R12, AX")
	g.p("CMPQ %s, $0", g.a("set"))
	g.lj("JNE", name+"s")
	g.c("C += alpha·sums.")
	for r := range mr {
		for j := range nv {
			mem := fmt.Sprintf("%d(AX)", 8*g.w*j)
			g.ldm(mem, m(j), rb+j)
			g.p("VFMADD231PD %s, %s, %s", g.v(r*nv+j), g.v(al), g.v(rb+j))
			g.stm(rb+j, m(j), mem)
		}
		if r < mr-1 {
			g.p("ADDQ R13, AX")
		}
	}
	g.lj("JMP", name+"n")
	g.l(name + "s")
	g.c("C = alpha·sums.")
	for r := range mr {
		for j := range nv {
			g.p("VMULPD %s, %s, %s", g.v(r*nv+j), g.v(al), g.v(r*nv+j))
			g.stm(r*nv+j, m(j), fmt.Sprintf("%d(AX)", 8*g.w*j))
		}
		if r < mr-1 {
			g.p("ADDQ R13, AX")
		}
	}
	g.l(name + "n")
	g.p("SUBQ $%d, CX", mr)
	if again || mr > 1 {
		g.p("LEAQ (SI)(R8*%d), SI", mr)
		g.p("LEAQ (R12)(R13*%d), R12", mr)
	}
	if again {
		g.lj("JMP", name)
	}
}

func gemmDots(g *gen) {
	rows := g.dotRows()
	g.text("gemmDots", "m int, n int, k int, alpha float64, a *float64, lda int, b *float64, ldb int, c *float64, ldc int", fmt.Sprintf(`
adds alpha·A·Bᵀ to the m×n matrix C for A of size m×k and B of size
n×k, all row-major, m, n, k > 0. Every sum runs over the lanes side by side; the
lanes are then added up as dotReduce says.

Tiles of %d rows of A and four rows of B: pointers beyond the last row repeat it,
and what they give is not stored. The last entries of a row are read under a
mask.

AX, BX, DX, SI: rows of A. DI, R8, R9, R12: rows of B. R10: index in bytes,
R11: its limit. R13: tile of C, R14: columns left, R15: rows of B. m, a and c on
the stack count the rows of A.`, rows))
	for _, s := range []string{"lda", "ldb", "ldc"} {
		g.p("SHLQ $3, %s", g.a(s))
	}
	g.l("rows")
	g.load("a AX, m CX, lda R10")
	g.clamp(dotA[:rows], "R10", "CX")
	g.load("n R14, b R15, c R13")
	g.l("cols")
	g.p("MOVQ R15, DI")
	g.p("MOVQ %s, R10", g.a("ldb"))
	g.clamp(dotB, "R10", "R14")
	g.load("k R12")
	g.p("MOVQ R12, R11")
	// The pointer in R12 is set again below: kLimit needs a register.
	mask := g.kLimit("R12", 1, 15)
	g.p("MOVQ %s, R10", g.a("ldb"))
	g.p("LEAQ (R9)(R10*1), R12")
	g.p("CMPQ R14, $3")
	g.p("CMOVQLE R9, R12")
	g.dotTile("t", mask, rows, 4)
	g.dotReduce(rows)
	g.c("C += alpha·sums, in the columns that there are.")
	g.p("MOVQ $4, R10")
	g.p("CMPQ R14, R10")
	g.p("CMOVQLT R14, R10")
	m := g.laneMask("R10", "R11", 2, 15)
	alpha := map[bool]string{true: "Y16", false: "Y14"}[g.wide()]
	g.p("VBROADCASTSD %s, %s", g.a("alpha"), alpha)
	g.load("m CX, ldc R11")
	g.p("MOVQ R13, R10")
	for r := range rows {
		if r > 0 {
			g.p("CMPQ CX, $%d", r)
			g.lj("JLE", "stored")
			g.p("ADDQ R11, R10")
		}
		if g.wide() {
			s := y(8 * (r / 2))
			if r%2 == 1 {
				g.p("VEXTRACTF64X4 $1, Z%d, Y18", 8*(r/2))
				s = "Y18"
			}
			g.p("VMOVUPD.Z (R10), %s, Y17", m)
			g.p("VFMADD231PD %s, %s, Y17", s, alpha)
			g.p("VMOVUPD Y17, %s, (R10)", m)
		} else {
			g.p("VMASKMOVPD (R10), %s, Y13", m)
			g.p("VFMADD231PD %s, %s, Y13", y(4*r), alpha)
			g.p("VMASKMOVPD Y13, %s, (R10)", m)
		}
	}
	g.l("stored")
	g.p("ADDQ $32, R13")
	g.p("MOVQ %s, R10", g.a("ldb"))
	g.p("LEAQ (R15)(R10*4), R15")
	g.p("SUBQ $4, R14")
	g.lj("JGT", "cols")
	g.load("lda R10, ldc R11")
	g.p("IMULQ $%d, R10", rows)
	g.p("IMULQ $%d, R11", rows)
	g.p("ADDQ R10, %s", g.a("a"))
	g.p("ADDQ R11, %s", g.a("c"))
	g.p("SUBQ $%d, %s", rows, g.a("m"))
	g.lj("JGT", "rows")
	g.ret()
}

func gemv(g *gen) {
	g.text("gemv", "m int, k int, alpha float64, a *float64, lda int, x *float64, y *float64, incy int", `
adds alpha·A·x to y for an m×k row-major matrix A, m, k > 0; entry i
of y is at y[i·incy]. Sums are formed and added up as in gemmDots.

Four rows at a time; pointers beyond the last row repeat it, and what they give
is not stored. The last entries of a row are read under a mask.

DI, R8, R9, R12: rows of A. AX: x. R10: index in bytes, R11: its limit.
R13: y, R14: rows left, R15: rows of A.`)
	g.p("SHLQ $3, %s", g.a("lda"))
	g.p("SHLQ $3, %s", g.a("incy"))
	g.load("k R12")
	mask := g.kLimit("R12", 1, 15)
	g.load("x AX, y R13, m R14, a R15, incy DX")
	g.l("rows")
	g.p("MOVQ R15, DI")
	g.p("MOVQ %s, R10", g.a("lda"))
	g.clamp(dotB, "R10", "R14")
	// Row r of the tile is x, column c a row of A.
	g.dotTile("t", mask, 1, 4)
	g.fourSums(0, 16)
	g.p("VBROADCASTSD %s, Y2", g.a("alpha"))
	g.p("VEXTRACTF128 $1, Y0, X1")
	for r := range 4 {
		if r > 0 {
			g.p("CMPQ R14, $%d", r)
			g.lj("JLE", "done")
		}
		s := x(r / 2)
		if r%2 == 1 {
			g.p("VPERMILPD $1, %s, %s", s, s)
		}
		g.p("VMOVSD (R13), X3")
		g.p("VFMADD231SD %s, X2, X3", s)
		g.p("VMOVSD X3, (R13)")
		g.p("ADDQ DX, R13")
	}
	g.p("MOVQ %s, R10", g.a("lda"))
	g.p("LEAQ (R15)(R10*4), R15")
	g.p("SUBQ $4, R14")
	g.lj("JGT", "rows")
	g.l("done")
	g.ret()
}
