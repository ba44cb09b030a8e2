package main

import "fmt"

func cholPanel(g *gen) {
	w := g.w
	row := 8 * w * panelVectors
	g.text("cholPanel", "k int, n int, y *float64) int", fmt.Sprintf(`
factors the n×n matrix that stands in the packed panel Y below k rows X,
0 < n ≤ %d, after subtracting Xᵀ·X from it:

	u_ij = (y_ij − Σ_{l<k} x_li·x_lj − Σ_{l<i} u_li·u_lj)·(1/u_ii),  j > i,

and u_ii the root of the same difference. The upper triangle of U, by rows, takes
the place of the matrix, of which only the upper triangle counts; what is left
below the diagonal is unspecified. It returns the number of pivots that were
positive and finite, and leaves the first other one on the diagonal. The panel
must have room for n rounded up to a multiple of %d.

Strips of %d rows are summed in registers from their diagonal on, as in
gemmPanel, and factored there, a row at a time. Vectors of columns beyond n are
left alone.

DI: Y from the strip's first column on. DX: first row of the strip. R11: rows
above it. R12: pivots left. R13: last finite number. AX: row l of Y, R14: l,
counted down. R8: scratch.`, w*panelVectors, w, w))
	g.load("k R11, n R12, y DI")
	g.p("MOVQ $0x7FEFFFFFFFFFFFFF, R13")
	g.p("IMUL3Q $%d, R11, DX", row)
	g.p("ADDQ DI, DX")
	g.c("Fewer vectors: the last strips' code.")
	g.p("CMPQ R12, $%d", w)
	g.lj("JLE", "s2")
	g.p("CMPQ R12, $%d", 2*w)
	g.lj("JLE", "s1")
	for s := range panelVectors {
		nv := panelVectors - s
		rb, rbc := g.tileRegs(w, nv)
		name := fmt.Sprintf("s%d", s)
		if s > 0 {
			g.p("ADDQ $%d, R11", w)
			g.p("ADDQ $%d, DI", 8*w)
			g.p("ADDQ $%d, DX", w*row+8*w)
			g.l(name)
		}
		g.loadRows("DX", w, nv, 0)
		g.p("MOVQ DI, AX")
		g.p("MOVQ R11, R14")
		g.p("TESTQ R14, R14")
		g.lj("JZ", name+"f")
		g.l(name + "k")
		g.loadRows("AX", 1, nv, rb)
		for r := range w {
			g.fma("VFNMADD231PD", fmt.Sprintf("%d(AX)", 8*r), rb, rbc, r*nv, nv)
		}
		g.p("ADDQ $%d, AX", row)
		g.p("DECQ R14")
		g.lj("JNZ", name+"k")
		g.l(name + "f")
		for r := range w {
			at := fmt.Sprintf("%d(DX)", r*row+8*r)
			g.c("Row %d: the pivot, its root and what that divides.", r)
			g.lane(r, r*nv, rb, rbc)
			g.p("VMOVSD %s, %s", x(rb), at)
			g.p("VMOVQ %s, R8", x(rb))
			g.p("DECQ R8")
			g.p("CMPQ R8, R13")
			g.lj("JCC", "bad")
			g.p("VSQRTSD %s, %s, %s", x(rb), x(rb), x(rb))
			g.p("VMOVSD ·one(SB), %s", x(rbc))
			g.p("VDIVSD %s, %s, %s", x(rb), x(rbc), x(rbc))
			g.scaleRow(r, nv, rbc, rbc)
			g.p("VMOVSD %s, %s", x(rb), at)
			g.p("DECQ R12")
			g.lj("JZ", "bad")
			for q := r + 1; q < w; q++ {
				g.lane(q, r*nv, rb, rbc)
				for j := range nv {
					g.p("VFNMADD231PD %s, %s, %s", g.v(r*nv+j), g.v(rb), g.v(q*nv+j))
				}
			}
		}
	}
	g.l("bad")
	g.load("n AX")
	g.p("SUBQ R12, AX")
	g.p("MOVQ AX, %s", g.a("ret"))
	g.ret()
}

// lane sets every lane of dst to lane i of src; tmp is lost.
func (g *gen) lane(i, src, dst, tmp int) {
	switch {
	case i == 0:
		g.p("VBROADCASTSD %s, %s", x(src), g.v(dst))
	case g.wide():
		g.p("VPBROADCASTQ ·index+%d(SB), %s", 8*i, g.v(tmp))
		g.p("VPERMPD %s, %s, %s", g.v(src), g.v(tmp), g.v(dst))
	default:
		g.p("VPERMPD $0x%X, %s, %s", 0x55*i, y(src), y(dst))
	}
}
