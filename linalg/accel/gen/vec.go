package main

import "fmt"

// laneSum adds the lanes of register a, the last step of every sum over lanes.
func (g *gen) laneSum(a, tmp int) {
	if g.wide() {
		g.p("VEXTRACTF64X4 $1, Z%d, Y%d", a, tmp)
		g.p("VADDPD Y%d, Y%d, Y%d", tmp, a, a)
	}
	g.p("VEXTRACTF128 $1, Y%d, X%d", a, tmp)
	g.p("VADDPD X%d, X%d, X%d", tmp, a, a)
	g.p("VPERMILPD $1, X%d, X%d", a, tmp)
	g.p("VADDSD X%d, X%d, X%d", tmp, a, a)
}

func dot(g *gen) {
	w := g.w
	g.text("dot", "n int, x *float64, y *float64) float64", fmt.Sprintf(`
returns Σ x_i·y_i, n ≥ 0: four vectors of partial sums over blocks of
%d entries, whole vectors that are left and the last entries, under a mask, in
the first of them; then these are added pairwise, and their lanes by halves.

SI, DI: x, y at the current entry. BX: entries left.`, 4*w))
	g.load("n BX, x SI, y DI")
	g.zero(0, 1, 2, 3)
	g.p("SUBQ $%d, BX", 4*w)
	g.lj("JLT", "ones")
	g.l("fours")
	for i := range 4 {
		g.p("VMOVUPD %d(SI), %s", 8*w*i, g.v(4+i))
		g.p("VFMADD231PD %d(DI), %s, %s", 8*w*i, g.v(4+i), g.v(i))
	}
	g.p("ADDQ $%d, SI", 32*w)
	g.p("ADDQ $%d, DI", 32*w)
	g.p("SUBQ $%d, BX", 4*w)
	g.lj("JGE", "fours")
	g.l("ones")
	g.p("ADDQ $%d, BX", 4*w)
	g.l("one")
	g.p("CMPQ BX, $%d", w)
	g.lj("JLT", "tail")
	g.p("VMOVUPD (SI), %s", g.v(4))
	g.p("VFMADD231PD (DI), %s, %s", g.v(4), g.v(0))
	g.p("ADDQ $%d, SI", 8*w)
	g.p("ADDQ $%d, DI", 8*w)
	g.p("SUBQ $%d, BX", w)
	g.lj("JMP", "one")
	g.l("tail")
	g.p("TESTQ BX, BX")
	g.lj("JZ", "sum")
	mask := g.laneMask("BX", "R8", 1, 6)
	g.ldm("(SI)", mask, 4)
	g.ldm("(DI)", mask, 5)
	g.p("VFMADD231PD %s, %s, %s", g.v(5), g.v(4), g.v(0))
	g.l("sum")
	g.p("VADDPD %s, %s, %s", g.v(1), g.v(0), g.v(0))
	g.p("VADDPD %s, %s, %s", g.v(3), g.v(2), g.v(2))
	g.p("VADDPD %s, %s, %s", g.v(2), g.v(0), g.v(0))
	g.laneSum(0, 1)
	g.p("VMOVSD X0, %s", g.a("ret"))
	g.ret()
}

func axpy(g *gen) {
	w := g.w
	g.text("axpy", "n int, dst *float64, alpha float64, x *float64", `
adds alpha·x to dst, n ≥ 0, one vector after the other and the last
entries under a mask. dst may be x.

DI, SI: dst, x at the current entry. BX: entries left.`)
	g.load("n BX, dst DI, x SI")
	g.p("VBROADCASTSD %s, %s", g.a("alpha"), g.v(0))
	g.p("SUBQ $%d, BX", 2*w)
	g.lj("JLT", "rest")
	g.l("twos")
	for i := range 2 {
		g.p("VMOVUPD %d(DI), %s", 8*w*i, g.v(1+i))
	}
	for i := range 2 {
		g.p("VFMADD231PD %d(SI), %s, %s", 8*w*i, g.v(0), g.v(1+i))
	}
	for i := range 2 {
		g.p("VMOVUPD %s, %d(DI)", g.v(1+i), 8*w*i)
	}
	g.p("ADDQ $%d, SI", 16*w)
	g.p("ADDQ $%d, DI", 16*w)
	g.p("SUBQ $%d, BX", 2*w)
	g.lj("JGE", "twos")
	g.l("rest")
	g.p("ADDQ $%d, BX", w)
	g.lj("JLT", "tail")
	g.p("VMOVUPD (DI), %s", g.v(1))
	g.p("VFMADD231PD (SI), %s, %s", g.v(0), g.v(1))
	g.p("VMOVUPD %s, (DI)", g.v(1))
	g.p("ADDQ $%d, SI", 8*w)
	g.p("ADDQ $%d, DI", 8*w)
	g.p("SUBQ $%d, BX", w)
	g.l("tail")
	g.p("ADDQ $%d, BX", w)
	g.lj("JLE", "done")
	mask := g.laneMask("BX", "R8", 1, 4)
	g.ldm("(DI)", mask, 1)
	g.ldm("(SI)", mask, 2)
	g.p("VFMADD231PD %s, %s, %s", g.v(2), g.v(0), g.v(1))
	g.stm(1, mask, "(DI)")
	g.l("done")
	g.ret()
}

func poleSum(g *gen) {
	w := g.w
	g.text("poleSum", "n int, a2 *float64, b2 *float64, np int, s *float64, w *float64) float64", fmt.Sprintf(`
returns Σ w_p·Σ_i σ_i²/(σ_i² + s_p), n, np > 0, by the recurrence of
f64.PoleSum, %d poles in the lanes of a vector and up to %d vectors side by side,
which hide the latency of a division. The last poles are read under a mask, and
their lanes beyond np are left out of the sum.

SI, DI: a2, b2 (n−1 entries). R8, R9: s, w at the current vector. R10: vectors
left. R11: row, BX: n−1.`, w, poleGroup(g)))
	g.load("n BX, a2 SI, b2 DI, np R10, s R8, w R9")
	g.p("DECQ BX")
	// Registers of vector i: t, t', sum, s.
	grp := poleGroup(g)
	base := 4 * grp
	ra, rb, r, tr, br, e := base, base+1, base+2, base+3, base+4, base+5
	tot, m, one := 31, 0, 30
	if !g.wide() {
		tot, m, one = 15, 14, -1
	}
	g.zero(tot)
	if g.wide() {
		g.p("VBROADCASTSD ·one(SB), %s", g.v(one))
	}
	g.p("MOVQ R10, AX")
	g.p("ADDQ $%d, R10", w-1)
	g.p("SHRQ $%d, R10", map[int]int{8: 3, 4: 2}[w])
	g.c("Lanes of the last vector.")
	g.p("DECQ AX")
	g.p("ANDQ $%d, AX", w-1)
	g.p("INCQ AX")
	g.l("group")
	if grp == 4 {
		for _, c := range [][2]any{{10, "g4"}, {9, "g3"}, {7, "g4"}, {5, "g3"}, {4, "g4"}, {3, "g3"}, {2, "g2"}} {
			g.p("CMPQ R10, $%d", c[0])
			g.lj("JGE", c[1].(string))
		}
	} else {
		g.p("CMPQ R10, $2")
		g.lj("JGE", "g2")
	}
	g.p("TESTQ R10, R10")
	g.lj("JLE", "done")
	for size := 1; size <= grp; size++ {
		name := fmt.Sprintf("g%d", size)
		g.l(name)
		g.p("MOVQ $%d, DX", w)
		g.p("SUBQ $%d, R10", size)
		g.p("CMOVQEQ AX, DX")
		mask := g.laneMask("DX", "R11", 1, m)
		lm := func(i int) string {
			if i == size-1 {
				return mask
			}
			return ""
		}
		for i := range size {
			g.ldm(fmt.Sprintf("%d(R8)", 8*w*i), lm(i), 4*i+3)
			g.p("VMOVAPD %s, %s", g.v(4*i+3), g.v(4*i))
			g.zero(4*i+1, 4*i+2)
		}
		step := func(last bool) {
			g.p("VBROADCASTSD (SI)(R11*8), %s", g.v(ra))
			if !last {
				g.p("VBROADCASTSD (DI)(R11*8), %s", g.v(rb))
			}
			for i := range size {
				t, d, sum, s := g.v(4*i), g.v(4*i+1), g.v(4*i+2), g.v(4*i+3)
				o := one
				if one < 0 {
					o = e
					g.p("VBROADCASTSD ·one(SB), %s", g.v(o))
				}
				g.p("VADDPD %s, %s, %s", t, g.v(ra), g.v(r))
				g.p("VDIVPD %s, %s, %s", g.v(r), g.v(o), g.v(r))
				g.p("VADDPD %s, %s, %s", d, g.v(ra), g.v(e))
				g.p("VFMADD231PD %s, %s, %s", g.v(r), g.v(e), sum)
				if last {
					continue
				}
				g.p("VMULPD %s, %s, %s", g.v(r), t, g.v(tr))
				g.p("VMULPD %s, %s, %s", g.v(r), g.v(rb), g.v(br))
				g.p("VMULPD %s, %s, %s", g.v(ra), g.v(br), g.v(e))
				g.p("VMULPD %s, %s, %s", d, g.v(e), g.v(e))
				g.p("VMULPD %s, %s, %s", g.v(r), g.v(e), d)
				g.p("VMULPD %s, %s, %s", g.v(tr), g.v(rb), g.v(e))
				g.p("VFMADD231PD %s, %s, %s", g.v(tr), g.v(e), d)
				g.p("VFMADD213PD %s, %s, %s", s, g.v(br), t)
			}
		}
		g.p("XORQ R11, R11")
		g.p("CMPQ R11, BX")
		g.lj("JGE", name+"last")
		g.l(name + "rows")
		step(false)
		g.p("INCQ R11")
		g.p("CMPQ R11, BX")
		g.lj("JLT", name+"rows")
		g.l(name + "last")
		g.c("Row n−1, where b is zero and nothing comes after.")
		step(true)
		for i := range size {
			g.ldm(fmt.Sprintf("%d(R9)", 8*w*i), lm(i), e)
			switch {
			case lm(i) == "":
				g.p("VFMADD231PD %s, %s, %s", g.v(4*i+2), g.v(e), g.v(tot))
			case g.wide():
				g.p("VFMADD231PD %s, %s, %s, %s", g.v(4*i+2), g.v(e), mask, g.v(tot))
			default:
				g.p("VFMADD213PD %s, %s, %s", g.v(tot), g.v(e), g.v(4*i+2))
				g.p("VBLENDVPD %s, %s, %s, %s", mask, g.v(4*i+2), g.v(tot), g.v(tot))
			}
		}
		g.p("ADDQ $%d, R8", 8*w*size)
		g.p("ADDQ $%d, R9", 8*w*size)
		g.lj("JMP", "group")
	}
	g.l("done")
	g.p("VMOVAPD %s, %s", g.v(tot), g.v(0))
	g.laneSum(0, 1)
	g.p("VMOVSD X0, %s", g.a("ret"))
	g.ret()
}

// poleGroup is the number of vectors of poles side by side.
func poleGroup(g *gen) int {
	if g.wide() {
		return 4
	}
	return 2
}
