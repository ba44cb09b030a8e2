package main

import (
	"fmt"
	"slices"
)

// panelVectors is the width of a packed panel in vectors.
const panelVectors = 3

// loadRows loads the first nv vectors of rows of a packed panel at ptr to registers from dst on.
func (g *gen) loadRows(ptr string, rows, nv, dst int) {
	for r := range rows {
		for j := range nv {
			g.p("VMOVUPD %d(%s), %s", 8*g.w*(r*panelVectors+j), ptr, g.v(dst+r*nv+j))
		}
	}
}

// scaleRow multiplies row r of a tile of nv vectors by the number in register from, which is
// broadcast to register bc, and stores it to its place in the panel, of which DX is the tile's.
func (g *gen) scaleRow(r, nv, from, bc int) {
	g.p("VBROADCASTSD %s, %s", x(from), g.v(bc))
	for j := range nv {
		v := g.v(r*nv + j)
		g.p("VMULPD %s, %s, %s", g.v(bc), v, v)
		g.p("VMOVUPD %s, %d(DX)", v, 8*g.w*(r*panelVectors+j))
	}
}

// packRows are the pointers to the rows that are transposed together.
func (g *gen) packRows() []string {
	return []string{"AX", "BX", "DX", "SI", "DI", "R8", "R9", "R12"}[:g.w]
}

// transpose leaves the transpose of the w×w matrix in registers 0 to w−1 in the same registers; the next w are lost.
func (g *gen) transpose() {
	if !g.wide() {
		g.p("VUNPCKLPD Y1, Y0, Y4")
		g.p("VUNPCKHPD Y1, Y0, Y5")
		g.p("VUNPCKLPD Y3, Y2, Y6")
		g.p("VUNPCKHPD Y3, Y2, Y7")
		g.p("VPERM2F128 $0x20, Y6, Y4, Y0")
		g.p("VPERM2F128 $0x20, Y7, Y5, Y1")
		g.p("VPERM2F128 $0x31, Y6, Y4, Y2")
		g.p("VPERM2F128 $0x31, Y7, Y5, Y3")
		return
	}
	g.c("Pairs of neighbouring rows, even columns in 8, 10, … and odd ones in 9, 11, …")
	for i := 0; i < 8; i += 2 {
		g.p("VUNPCKLPD Z%d, Z%d, Z%d", i+1, i, 8+i)
		g.p("VUNPCKHPD Z%d, Z%d, Z%d", i+1, i, 9+i)
	}
	g.c("The 4×4 transposes of these in parts of 128 bits.")
	for i := range 2 {
		for h, imm := range []int{0x44, 0xEE} {
			g.p("VSHUFF64X2 $0x%X, Z%d, Z%d, Z%d", imm, 10+i, 8+i, 4*i+2*h)
			g.p("VSHUFF64X2 $0x%X, Z%d, Z%d, Z%d", imm, 14+i, 12+i, 4*i+2*h+1)
		}
	}
	// Halves 2h of the columns of parity i are in 4i+2h and 4i+2h+1.
	for i := range 2 {
		for h := range 2 {
			lo, hi := 4*i+2*h, 4*i+2*h+1
			g.p("VSHUFF64X2 $0x88, Z%d, Z%d, Z%d", hi, lo, 8+4*h+i)
			g.p("VSHUFF64X2 $0xDD, Z%d, Z%d, Z%d", hi, lo, 8+4*h+2+i)
		}
	}
	for i := range 8 {
		g.p("VMOVAPD Z%d, Z%d", 8+i, i)
	}
}

func packT(g *gen) {
	w := g.w
	g.text("packT", "dst *float64, src *float64, ld int, rows int, k int", fmt.Sprintf(`
copies the transpose of the rows×k matrix src, row-major with stride ld, to a
packed panel, 0 < rows ≤ %d, k > 0: src[r·ld+l] to dst[l·%d+r]. The panel is
written in whole blocks of %d by %d: it must have room for k rounded up to a
multiple of %d, and what lies beyond rows and k is unspecified.

Blocks of %d rows are transposed in registers. Pointers beyond the last row
repeat it. The last entries of a row are read under a mask.

%v: rows. R10: index in bytes, R11: its limit. R13: panel. R14: rows left,
R15: first row of the block.`, w*panelVectors, w*panelVectors, w, w, w, w, g.packRows()))
	g.load("dst R13, src R15, rows R14, k R9")
	packBlocks(g, func(mask string) {
		for i, r := range g.packRows() {
			g.ldm(at("("+r+")"), mask, i)
		}
		g.transpose()
		for i := range w {
			g.p("VMOVUPD %s, %d(CX)", g.v(i), 8*w*panelVectors*i)
		}
	})
}

func unpackT(g *gen) {
	w := g.w
	g.text("unpackT", "dst *float64, ld int, src *float64, rows int, k int", fmt.Sprintf(`
is the inverse of packT: it copies the transpose of a packed panel,
src[l·%d+r], to the rows×k matrix dst with row stride ld.

Of rows that repeat the last, the last is written last, so that its own values
stay. The last entries of a row are written under a mask.

Registers as in packT, R13 being the panel that is read.`, w*panelVectors))
	g.load("dst R15, src R13, rows R14, k R9")
	packBlocks(g, func(mask string) {
		g.loadRows("CX", w, 1, 0)
		g.transpose()
		for i, r := range slices.Backward(g.packRows()) {
			g.stm(i, mask, at("("+r+")"))
		}
	})
}

// packBlocks has step copy blocks, with a mask where the last entries of the rows do not fill one.
func packBlocks(g *gen, step func(mask string)) {
	w := g.w
	g.p("SHLQ $3, %s", g.a("ld"))
	mask := g.kLimit("R9", 1, 15)
	g.l("block")
	g.p("MOVQ R15, AX")
	g.p("MOVQ %s, R10", g.a("ld"))
	g.clamp(g.packRows(), "R10", "R14")
	g.p("MOVQ R13, CX")
	g.p("XORQ R10, R10")
	g.p("CMPQ R10, R11")
	g.lj("JGE", "tail")
	g.l("k")
	step("")
	g.p("ADDQ $%d, CX", 8*w*panelVectors*w)
	g.p("ADDQ $%d, R10", 8*w)
	g.p("CMPQ R10, R11")
	g.lj("JLT", "k")
	g.l("tail")
	g.p("TESTQ $%d, %s", w-1, g.a("k"))
	g.lj("JZ", "next")
	step(mask)
	g.l("next")
	g.p("MOVQ %s, R10", g.a("ld"))
	g.p("LEAQ (R15)(R10*%d), R15", w)
	g.p("ADDQ $%d, R13", 8*w)
	g.p("SUBQ $%d, R14", w)
	g.lj("JGT", "block")
	g.ret()
}
