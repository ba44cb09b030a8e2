package main

// sweep runs body over vectors at the byte offset R10, which it leaves at the last one, for as many entries as BX says, more
// than none. The last vector that is not full gets a mask; on AVX2 it is register 15. CX, R8 and BX are lost.
func (g *gen) sweep(body func(mask string)) {
	w := g.w
	g.p("XORQ R10, R10")
	g.p("SUBQ $%d, BX", w)
	g.lj("JLT", "tail")
	g.l("vectors")
	body("")
	g.p("ADDQ $%d, R10", 8*w)
	g.p("SUBQ $%d, BX", w)
	g.lj("JGE", "vectors")
	g.l("tail")
	g.p("ADDQ $%d, BX", w)
	g.lj("JLE", "done")
	body(g.laneMask("BX", "R8", 1, 15))
	g.l("done")
}

// at is the address of the current vector of sweep.
func at(ptr string) string { return ptr + "(R10*1)" }

func (g *gen) broadcast(arg string, r int) { g.p("VBROADCASTSD %s, %s", g.a(arg), g.v(r)) }

// flushed sets register r to zero in the lanes where its magnitude is below 2^−511, that is where the upper two bits of the
// exponent are zero: register 3 holds these bits, on AVX2 register 5 is zero. Register 4 or K2 is lost.
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

// flushedProduct writes the flushed product of two rows at x and y to the one at DI and leaves its sum in register 0.
func (g *gen) flushedProduct(x, y string) {
	g.zero(0)
	g.sweep(func(mask string) {
		g.ldm(at("("+x+")"), mask, 1)
		g.ldm(at("("+y+")"), mask, 2)
		g.p("VMULPD %s, %s, %s", g.v(2), g.v(1), g.v(1))
		g.flushed(1)
		g.stm(1, mask, at("(DI)"))
		g.p("VADDPD %s, %s, %s", g.v(1), g.v(0), g.v(0))
	})
	g.laneSum(0, 1)
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
	g.flushedProduct("SI", "DX")
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
	g.flushedProduct("DI", "SI")
	g.p("VMOVSD X0, (R9)")
	g.p("ADDQ R11, R9")
	g.p("MOVQ %s, BX", g.a("n"))
	g.p("LEAQ (SI)(BX*8), SI")
	g.p("DECQ R12")
	g.lj("JNZ", "row")
	g.ret()
}
