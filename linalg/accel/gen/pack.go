package main

import "fmt"

// panelVectors is the width of a packed panel in vectors.
const panelVectors = 3

// packRows are the pointers to the rows that are transposed together.
func (g *gen) packRows() []string {
	return []string{"AX", "BX", "DX", "SI", "DI", "R8", "R9", "R12"}[:g.w]
}

// transpose leaves the transpose of the w×w matrix in registers 0 to w−1 in the
// same registers; the next w are lost.
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

func pack(g *gen) {
	transposeBlocks(g)
	w := g.w
	rows := g.packRows()
	row := 8 * w * panelVectors
	for _, out := range []bool{false, true} {
		if out {
			g.text("unpackT", "dst *float64, ld int, src *float64, rows int, k int", fmt.Sprintf(`
is the inverse of packT: it copies the transpose of a packed panel,
src[l·%d+r], to the rows×k matrix dst with row stride ld.

Of rows that repeat the last, the last is written last, so that its own values
stay. The last entries of a row are written under a mask.

Registers as in packT, R13 being the panel that is read.`, w*panelVectors))
			g.load("dst R15, src R13, rows R14, k R9")
		} else {
			g.text("packT", "dst *float64, src *float64, ld int, rows int, k int", fmt.Sprintf(`
copies the transpose of the rows×k matrix src, row-major with stride ld, to a
packed panel, 0 < rows ≤ %d, k > 0: src[r·ld+l] to dst[l·%d+r]. The panel is
written in whole blocks of %d by %d: it must have room for k rounded up to a
multiple of %d, and what lies beyond rows and k is unspecified.

Blocks of %d rows are transposed in registers. Pointers beyond the last row
repeat it. The last entries of a row are read under a mask.

%v: rows. R10: index in bytes, R11: its limit. R13: panel. R14: rows left,
R15: first row of the block.`, w*panelVectors, w*panelVectors, w, w, w, w, rows))
			g.load("dst R13, src R15, rows R14, k R9")
		}
		g.p("SHLQ $3, %s", g.a("ld"))
		mask := g.kLimit("R9", 1, 15)
		g.l("block")
		g.p("MOVQ R15, AX")
		g.p("MOVQ %s, R10", g.a("ld"))
		g.clamp(rows, "R10", "R14")
		g.p("MOVQ R13, CX")
		g.p("XORQ R10, R10")
		g.p("CMPQ R10, R11")
		g.lj("JGE", "tail")
		g.l("k")
		step := func(mask string) {
			if out {
				for i := range w {
					g.p("VMOVUPD %d(CX), %s", i*row, g.v(i))
				}
				g.transpose()
				for i := w - 1; i >= 0; i-- {
					g.stm(i, mask, fmt.Sprintf("(%s)(R10*1)", rows[i]))
				}
				return
			}
			for i := range w {
				g.ldm(fmt.Sprintf("(%s)(R10*1)", rows[i]), mask, i)
			}
			g.transpose()
			for i := range w {
				g.p("VMOVUPD %s, %d(CX)", g.v(i), i*row)
			}
		}
		step("")
		g.p("ADDQ $%d, CX", w*row)
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
}
