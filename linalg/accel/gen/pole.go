package main

func pole(g *gen) {
	resolveForward(g)
	resolveBackward(g)
	resolveDiagonal(g)
	flushMul(g)
	flushChain(g)
	scaleMul(g)
	maxAbs(g)
	reaches(g)
}

// sweep runs body over vectors at the byte offset R10, which it leaves at the last
// one, for as many entries as BX says, more than none. The last vector that is not
// full gets a mask; on AVX2 it is register 15. CX, R8 and BX are lost.
func (g *gen) sweep(name string, body func(mask string)) {
	w := g.w
	g.p("XORQ R10, R10")
	g.p("SUBQ $%d, BX", w)
	g.lj("JLT", name+"tail")
	g.l(name + "vectors")
	body("")
	g.p("ADDQ $%d, R10", 8*w)
	g.p("SUBQ $%d, BX", w)
	g.lj("JGE", name+"vectors")
	g.l(name + "tail")
	g.p("ADDQ $%d, BX", w)
	g.lj("JLE", name+"done")
	body(g.laneMask("BX", "R8", 1, 15))
	g.l(name + "done")
}

// at is the address of the current vector of sweep.
func at(ptr string) string { return ptr + "(R10*1)" }

func (g *gen) broadcast(arg string, r int) { g.p("VBROADCASTSD %s, %s", g.a(arg), g.v(r)) }

func resolveForward(g *gen) {
	g.text("resolveForward", "n int, a2 float64, b2 float64, ab float64, s *float64, h *float64, that *float64, up *float64, tq *float64", `
is one row of the factorisation from the top for n > 0 poles: with
t = s + h, r = 1/(a2 + t), it sets that = h, up = ab·r, tq = t·r, h = b2·t·r.

SI: s, DI: h, DX: that, R9: up, R11: tq. R10: vector in bytes, BX: poles left.
The last poles are read and written under a mask.`)
	g.load("n BX, s SI, h DI, that DX, up R9, tq R11")
	g.broadcast("a2", 0)
	g.broadcast("b2", 1)
	g.broadcast("ab", 2)
	g.p("VBROADCASTSD ·one(SB), %s", g.v(3))
	g.sweep("", func(mask string) {
		g.ldm(at("(DI)"), mask, 4)
		g.ldm(at("(SI)"), mask, 5)
		g.stm(4, mask, at("(DX)"))
		g.p("VADDPD %s, %s, %s", g.v(4), g.v(5), g.v(5))
		g.p("VADDPD %s, %s, %s", g.v(5), g.v(0), g.v(6))
		g.p("VDIVPD %s, %s, %s", g.v(6), g.v(3), g.v(6))
		g.p("VMULPD %s, %s, %s", g.v(6), g.v(5), g.v(5))
		g.p("VMULPD %s, %s, %s", g.v(6), g.v(2), g.v(6))
		g.stm(5, mask, at("(R11)"))
		g.stm(6, mask, at("(R9)"))
		g.p("VMULPD %s, %s, %s", g.v(5), g.v(1), g.v(4))
		g.stm(4, mask, at("(DI)"))
	})
	g.ret()
}

func resolveBackward(g *gen) {
	g.text("resolveBackward", "n int, a2 float64, b2 float64, ab float64, s *float64, h *float64, across *float64, rp *float64", `
is one row of the factorisation from the bottom for n > 0 poles: with
t = s + h, r = 1/(b2 + t), it sets across = ab·r, rp = t·r, h = a2·t·r.

SI: s, DI: h, R9: across, R11: rp. R10: vector in bytes, BX: poles left. The last
poles are read and written under a mask.`)
	g.load("n BX, s SI, h DI, across R9, rp R11")
	g.broadcast("b2", 0)
	g.broadcast("a2", 1)
	g.broadcast("ab", 2)
	g.p("VBROADCASTSD ·one(SB), %s", g.v(3))
	g.sweep("", func(mask string) {
		g.ldm(at("(DI)"), mask, 4)
		g.ldm(at("(SI)"), mask, 5)
		g.p("VADDPD %s, %s, %s", g.v(4), g.v(5), g.v(5))
		g.p("VADDPD %s, %s, %s", g.v(5), g.v(0), g.v(6))
		g.p("VDIVPD %s, %s, %s", g.v(6), g.v(3), g.v(6))
		g.p("VMULPD %s, %s, %s", g.v(6), g.v(5), g.v(5))
		g.p("VMULPD %s, %s, %s", g.v(6), g.v(2), g.v(6))
		g.stm(5, mask, at("(R11)"))
		g.stm(6, mask, at("(R9)"))
		g.p("VMULPD %s, %s, %s", g.v(5), g.v(1), g.v(4))
		g.stm(4, mask, at("(DI)"))
	})
	g.ret()
}

func resolveDiagonal(g *gen) {
	g.text("resolveDiagonal", "n int, that *float64, h *float64, s *float64, w *float64) float64", `
sets that to x = 1/(v + s), v = that + h, for n > 0 poles and returns
Σ w·v·x, summed lane by lane.

DI: that, SI: h, DX: s, R9: w. R10: vector in bytes, BX: poles left. The last poles
are read and written under a mask; lanes off, where x may be infinite, are left out
of the sum.`)
	g.load("n BX, that DI, h SI, s DX, w R9")
	g.p("VBROADCASTSD ·one(SB), %s", g.v(3))
	g.zero(0)
	g.sweep("", func(mask string) {
		g.ldm(at("(DI)"), mask, 4)
		g.ldm(at("(SI)"), mask, 5)
		g.p("VADDPD %s, %s, %s", g.v(5), g.v(4), g.v(4))
		g.ldm(at("(DX)"), mask, 5)
		g.p("VADDPD %s, %s, %s", g.v(5), g.v(4), g.v(5))
		g.p("VDIVPD %s, %s, %s", g.v(5), g.v(3), g.v(5))
		g.stm(5, mask, at("(DI)"))
		g.ldm(at("(R9)"), mask, 6)
		g.p("VMULPD %s, %s, %s", g.v(4), g.v(6), g.v(6))
		switch {
		case mask == "":
			g.p("VFMADD231PD %s, %s, %s", g.v(6), g.v(5), g.v(0))
		case g.wide():
			g.p("VFMADD231PD %s, %s, %s, %s", g.v(6), g.v(5), mask, g.v(0))
		default:
			g.p("VANDPD %s, %s, %s", mask, g.v(5), g.v(5))
			g.p("VFMADD231PD %s, %s, %s", g.v(6), g.v(5), g.v(0))
		}
	})
	g.laneSum(0, 1)
	g.p("VMOVSD X0, %s", g.a("ret"))
	g.ret()
}

// flushed sets register r to zero in the lanes where its magnitude is below 2^−511,
// that is where the upper two bits of the exponent are zero: register 3 holds these
// bits, on AVX2 register 5 is zero. Register 4 or K2 is lost.
func (g *gen) flushed(r int) {
	if g.wide() {
		g.p("VPTESTMQ Z3, %s, K2", g.v(r))
		g.p("VMOVAPD.Z %s, K2, %s", g.v(r), g.v(r))
		return
	}
	g.p("VPAND Y3, %s, Y4", g.v(r))
	g.p("VPCMPEQQ Y5, Y4, Y4")
	g.p("VANDNPD %s, Y4, %s", g.v(r), g.v(r))
}

func (g *gen) flushConstants() {
	g.p("VBROADCASTSD ·exponentTop(SB), %s", g.v(3))
	if !g.wide() {
		g.zero(5)
	}
}

func flushMul(g *gen) {
	g.text("flushMul", "n int, dst *float64, x *float64, y *float64) float64", `
sets dst to the product of x and y, n > 0, entries below 2^−511 in
magnitude as zero, and returns the sum of dst, formed lane by lane. dst may be x or
y.

DI: dst, SI: x, DX: y. R10: vector in bytes, BX: entries left. The last entries are
read and written under a mask.`)
	g.load("n BX, dst DI, x SI, y DX")
	g.flushConstants()
	g.zero(0)
	g.sweep("", func(mask string) {
		g.ldm(at("(SI)"), mask, 1)
		g.ldm(at("(DX)"), mask, 2)
		g.p("VMULPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		g.flushed(1)
		g.stm(1, mask, at("(DI)"))
		g.p("VADDPD %s, %s, %s", g.v(1), g.v(0), g.v(0))
	})
	g.laneSum(0, 1)
	g.p("VMOVSD X0, %s", g.a("ret"))
	g.ret()
}

func flushChain(g *gen) {
	g.text("flushChain", "rows int, n int, y *float64, m *float64, out *float64, ldo int", `
multiplies y, n > 0, by one row of m after the other, rows > 0, m
rows×n without gaps, entries below 2^−511 in magnitude as zero, and sets out[i·ldo]
to the sum of y after row i, formed as in flushMul.

DI: y, SI: row of m, R9: out, R11: its stride in bytes, R12: rows left. R10: vector
in bytes, BX: entries left.`)
	g.load("rows R12, y DI, m SI, out R9, ldo R11")
	g.p("SHLQ $3, R11")
	g.flushConstants()
	g.l("row")
	g.p("MOVQ %s, BX", g.a("n"))
	g.zero(0)
	g.sweep("", func(mask string) {
		g.ldm(at("(DI)"), mask, 1)
		g.ldm(at("(SI)"), mask, 2)
		g.p("VMULPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		g.flushed(1)
		g.stm(1, mask, at("(DI)"))
		g.p("VADDPD %s, %s, %s", g.v(1), g.v(0), g.v(0))
	})
	g.laneSum(0, 1)
	g.p("VMOVSD X0, (R9)")
	g.p("ADDQ R11, R9")
	g.p("MOVQ %s, BX", g.a("n"))
	g.p("LEAQ (SI)(BX*8), SI")
	g.p("DECQ R12")
	g.lj("JNZ", "row")
	g.ret()
}

func scaleMul(g *gen) {
	g.text("scaleMul", "n int, dst *float64, c float64, x *float64, y *float64", `
sets dst to c·x·y entry by entry, n > 0. dst may be x or y.

DI: dst, SI: x, DX: y. R10: vector in bytes, BX: entries left. The last entries are
read and written under a mask.`)
	g.load("n BX, dst DI, x SI, y DX")
	g.broadcast("c", 0)
	g.sweep("", func(mask string) {
		g.ldm(at("(SI)"), mask, 1)
		g.ldm(at("(DX)"), mask, 2)
		g.p("VMULPD %s, %s, %s", g.v(0), g.v(1), g.v(1))
		g.p("VMULPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		g.stm(1, mask, at("(DI)"))
	})
	g.ret()
}

func maxAbs(g *gen) {
	g.text("maxAbs", "n int, dst *float64, x *float64", `
sets dst to the larger of dst and |x| entry by entry, n > 0, for x without
NaN.

DI: dst, SI: x. R10: vector in bytes, BX: entries left. The last entries are read
and written under a mask.`)
	g.load("n BX, dst DI, x SI")
	g.p("VBROADCASTSD ·magnitude(SB), %s", g.v(0))
	g.sweep("", func(mask string) {
		g.ldm(at("(SI)"), mask, 1)
		g.ldm(at("(DI)"), mask, 2)
		g.p("VANDPD %s, %s, %s", g.v(0), g.v(1), g.v(1))
		g.p("VMAXPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		g.stm(1, mask, at("(DI)"))
	})
	g.ret()
}

func reaches(g *gen) {
	g.text("reaches", "n int, x *float64, y *float64, limit float64) int", `
returns 1 if |x_i|·y_i is not below limit for some i < n, n > 0, else 0.

SI: x, DX: y. R10: vector in bytes, BX: entries left. Lanes off in the last vector
are left out of the comparison.`)
	g.load("n BX, x SI, y DX")
	g.broadcast("limit", 0)
	g.p("VBROADCASTSD ·magnitude(SB), %s", g.v(3))
	g.sweep("", func(mask string) {
		g.ldm(at("(SI)"), mask, 1)
		g.ldm(at("(DX)"), mask, 2)
		g.p("VANDPD %s, %s, %s", g.v(3), g.v(1), g.v(1))
		g.p("VMULPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		// Predicate 5: not less than, true for a NaN.
		if g.wide() {
			if mask == "" {
				g.p("VCMPPD $5, Z0, Z1, K2")
			} else {
				g.p("VCMPPD $5, Z0, Z1, %s, K2", mask)
			}
			g.p("KORTESTW K2, K2")
		} else {
			g.p("VCMPPD $5, Y0, Y1, Y1")
			if mask != "" {
				g.p("VANDPD %s, Y1, Y1", mask)
			}
			g.p("VMOVMSKPD Y1, AX")
			g.p("TESTL AX, AX")
		}
		g.lj("JNZ", "found")
	})
	g.p("MOVQ $0, %s", g.a("ret"))
	g.ret()
	g.l("found")
	g.p("MOVQ $1, %s", g.a("ret"))
	g.ret()
}
