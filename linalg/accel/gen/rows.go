package main

import "fmt"

// transposeBlocks copies whole blocks; what does not fill one is for the caller.
func transposeBlocks(g *gen) {
	w := g.w
	rows := g.packRows()
	g.text("transpose", "rows int, cols int, dst *float64, ldd int, a *float64, lda int", fmt.Sprintf(`
sets the cols×rows matrix dst to the transpose of the rows×cols matrix a,
both row-major, rows and cols multiples of %d and positive.

Strips of %d rows are transposed in blocks, in registers.

%v: rows of a at the current column. R10: column of a in bytes, R11: its limit.
R13: block of dst, R14: rows left, R15: first row of the strip, CX: ldd in bytes.`, w, w, rows))
	g.load("rows R14, cols R11, a R15, ldd CX")
	g.p("SHLQ $3, R11")
	g.p("SHLQ $3, CX")
	g.p("SHLQ $3, %s", g.a("lda"))
	g.l("strip")
	g.p("MOVQ %s, R10", g.a("lda"))
	g.p("MOVQ R15, %s", rows[0])
	for i := 1; i < w; i++ {
		g.p("LEAQ (%s)(R10*1), %s", rows[i-1], rows[i])
	}
	g.p("LEAQ (R15)(R10*%d), R15", w)
	g.p("MOVQ %s, R13", g.a("dst"))
	g.p("XORQ R10, R10")
	g.l("block")
	for i := range w {
		g.ldm(at("("+rows[i]+")"), "", i)
	}
	g.transpose()
	for i := range w {
		g.p("VMOVUPD %s, (R13)", g.v(i))
		g.p("ADDQ CX, R13")
	}
	g.p("ADDQ $%d, R10", 8*w)
	g.p("CMPQ R10, R11")
	g.lj("JLT", "block")
	g.p("ADDQ $%d, %s", 8*w, g.a("dst"))
	g.p("SUBQ $%d, R14", w)
	g.lj("JGT", "strip")
	g.ret()
}

func axpy4(g *gen) {
	g.text("axpy4", "n int, dst *float64, c0 float64, c1 float64, c2 float64, c3 float64, a0 *float64, a1 *float64, a2 *float64, a3 *float64", `
adds c0·a0 + c1·a1 + c2·a2 + c3·a3 to dst, n > 0: an entry takes the terms
0 and 1 one after the other and 2 and 3 beside them.

DI: dst, SI, DX, R9, R11: rows. R10: vector in bytes, BX: entries left. The last
entries are read and written under a mask.`)
	g.load("n BX, dst DI, a0 SI, a1 DX, a2 R9, a3 R11")
	for i := range 4 {
		g.broadcast(fmt.Sprintf("c%d", i), i)
	}
	g.sweep(func(mask string) {
		g.ldm(at("(DI)"), mask, 4)
		g.ldm(at("(R9)"), mask, 5)
		g.p("VMULPD %s, %s, %s", g.v(5), g.v(2), g.v(5))
		for i, ptr := range []string{"(SI)", "(R11)", "(DX)"} {
			to := 4 + i%2
			c := []int{0, 3, 1}[i]
			if mask == "" {
				g.p("VFMADD231PD %s, %s, %s", at(ptr), g.v(c), g.v(to))
				continue
			}
			g.ldm(at(ptr), mask, 6)
			g.p("VFMADD231PD %s, %s, %s", g.v(6), g.v(c), g.v(to))
		}
		g.p("VADDPD %s, %s, %s", g.v(5), g.v(4), g.v(4))
		g.stm(4, mask, at("(DI)"))
	})
	g.ret()
}

func addSquares(g *gen) {
	g.text("addSquares", "n int, dst *float64, dims int, x *float64, w *float64, c *float64, ldc int", `
adds Σ_d ((x_d − c_dj)·w_d)² to dst_j, n, dims > 0, c having rows of stride
ldc: the terms of an entry one after the other.

DI: dst, SI: x, DX: w, R9: c at the current vector, R11: ldc in bytes, R12: dims.
R10: vector in bytes, BX: entries left, AX: row of c, R13: coordinate. The last
entries are read and written under a mask.`)
	g.load("n BX, dst DI, x SI, w DX, c R9, ldc R11, dims R12")
	g.p("SHLQ $3, R11")
	g.sweep(func(mask string) {
		label := "dim"
		if mask != "" {
			label += "m"
		}
		g.ldm(at("(DI)"), mask, 0)
		g.p("LEAQ (R9)(R10*1), AX")
		g.p("XORQ R13, R13")
		g.l(label)
		g.p("VBROADCASTSD (SI)(R13*8), %s", g.v(1))
		if mask == "" {
			g.p("VSUBPD (AX), %s, %s", g.v(1), g.v(1))
		} else {
			g.ldm("(AX)", mask, 2)
			g.p("VSUBPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		}
		g.p("VBROADCASTSD (DX)(R13*8), %s", g.v(2))
		g.p("VMULPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		g.p("VFMADD231PD %s, %s, %s", g.v(1), g.v(1), g.v(0))
		g.p("ADDQ R11, AX")
		g.p("INCQ R13")
		g.p("CMPQ R13, R12")
		g.lj("JLT", label)
		g.stm(0, mask, at("(DI)"))
	})
	g.ret()
}

func diffDots(g *gen) {
	g.text("diffDots", "n int, a *float64, b *float64, s *float64, t *float64, d *float64) (diff, sum float64)", `
returns Σ (b_i − a_i)·(s_i − t_i) and Σ (a_i + b_i)·d_i, n > 0, both summed
lane by lane.

SI: a, DI: b, DX: s, R9: t, R11: d. R10: vector in bytes, BX: entries left. The last
entries are read under a mask: lanes off are zero in every factor.`)
	g.load("n BX, a SI, b DI, s DX, t R9, d R11")
	g.zero(0, 1)
	g.sweep(func(mask string) {
		g.ldm(at("(SI)"), mask, 2)
		g.ldm(at("(DI)"), mask, 3)
		g.ldm(at("(DX)"), mask, 4)
		g.ldm(at("(R9)"), mask, 5)
		g.ldm(at("(R11)"), mask, 6)
		g.p("VSUBPD %s, %s, %s", g.v(5), g.v(4), g.v(4))
		g.p("VSUBPD %s, %s, %s", g.v(2), g.v(3), g.v(5))
		g.p("VADDPD %s, %s, %s", g.v(2), g.v(3), g.v(3))
		g.p("VFMADD231PD %s, %s, %s", g.v(5), g.v(4), g.v(0))
		g.p("VFMADD231PD %s, %s, %s", g.v(6), g.v(3), g.v(1))
	})
	g.laneSum(0, 2)
	g.laneSum(1, 2)
	g.p("VMOVSD X0, %s", g.a("diff"))
	g.p("VMOVSD X1, %s", g.a("sum"))
	g.ret()
}

func scale(g *gen) {
	g.text("scale", "n int, x *float64, alpha float64", `
multiplies x by alpha, n > 0.

DI: x. R10: vector in bytes, BX: entries left. The last entries are read and
written under a mask.`)
	g.load("n BX, x DI")
	g.broadcast("alpha", 0)
	g.sweep(func(mask string) {
		g.ldm(at("(DI)"), mask, 1)
		g.p("VMULPD %s, %s, %s", g.v(0), g.v(1), g.v(1))
		g.stm(1, mask, at("(DI)"))
	})
	g.ret()
}

func magnitude(g *gen) {
	g.text("magnitude", "n int, x *float64) float64", `
returns the largest |x_i|, n > 0, or NaN if an entry is not finite: Σ 0·x,
which is added, is then NaN.

SI: x. R10: vector in bytes, BX: entries left. The last entries are read under a
mask: lanes off are zero.`)
	g.load("n BX, x SI")
	g.p("VBROADCASTSD ·magnitude(SB), %s", g.v(3))
	g.zero(0, 1, 4)
	g.sweep(func(mask string) {
		g.ldm(at("(SI)"), mask, 2)
		g.p("VFMADD231PD %s, %s, %s", g.v(2), g.v(4), g.v(1))
		g.p("VANDPD %s, %s, %s", g.v(3), g.v(2), g.v(2))
		g.p("VMAXPD %s, %s, %s", g.v(2), g.v(0), g.v(0))
	})
	g.laneSum(1, 2)
	if g.wide() {
		g.p("VEXTRACTF64X4 $1, Z0, Y2")
		g.p("VMAXPD Y2, Y0, Y0")
	}
	g.p("VEXTRACTF128 $1, Y0, X2")
	g.p("VMAXPD X2, X0, X0")
	g.p("VPERMILPD $1, X0, X2")
	g.p("VMAXSD X2, X0, X0")
	g.p("VADDSD X1, X0, X0")
	g.p("VMOVSD X0, %s", g.a("ret"))
	g.ret()
}
