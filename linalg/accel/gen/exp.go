package main

import "fmt"

// expDegree is the degree of the Taylor polynomial of exp on ±ln 2/2.
const expDegree = 13

// expConst is entry i of the table of constants.
func expConst(i int) string { return fmt.Sprintf("%d(R9)", 8*i) }

// expConstants loads what expBody needs: R9 and registers 8 to 12, on AVX2 also 13 and 14.
func (g *gen) expConstants() {
	g.p("LEAQ ·expTable(SB), R9")
	// Order of the table: bounds, 1/ln 2, ln 2 in two parts, the magic numbers of 2^k, ½, then 1/13!, …, 1/2!, 1, 1.
	for i, r := range []int{8, 9, 10, 11, 12} {
		g.p("VBROADCASTSD %s, %s", expConst(i), g.v(r))
	}
	if !g.wide() {
		g.p("VBROADCASTSD %s, Y13", expConst(5))
		g.p("VBROADCASTSD %s, Y14", expConst(6))
	}
}

// expBody leaves e^x of register 0 in register 2. Registers 0, 1 and 3 are lost.
//
// x is clamped to [−760, 720], where the result is 0 or overflows, NaN passing through; k = x/ln 2 rounded to an integer; r
// = x − k·ln 2 in two steps, of which the first is exact, ln 2 being split after 32 bits as in Cody and Waite; the Taylor
// polynomial of degree expDegree in r by Horner's rule (its remainder is below 5e-18 for |r| ≤ ln 2/2); and a scaling by 2^k
// that rounds once, also where the result is denormal.
func (g *gen) expBody() {
	// A NaN is the second source of each: that one is returned.
	g.p("VMAXPD %s, %s, %s", g.v(0), g.v(8), g.v(0))
	g.p("VMINPD %s, %s, %s", g.v(0), g.v(9), g.v(0))
	g.p("VMULPD %s, %s, %s", g.v(10), g.v(0), g.v(1))
	if g.wide() {
		g.p("VRNDSCALEPD $0, Z1, Z1")
	} else {
		g.p("VROUNDPD $0, Y1, Y1")
	}
	g.p("VFNMADD231PD %s, %s, %s", g.v(11), g.v(1), g.v(0))
	g.p("VFNMADD231PD %s, %s, %s", g.v(12), g.v(1), g.v(0))
	g.p("VBROADCASTSD %s, %s", expConst(7), g.v(2))
	for i := 1; i <= expDegree; i++ {
		if g.wide() {
			g.p("VFMADD213PD.BCST %s, Z0, Z2", expConst(7+i))
		} else {
			g.p("VBROADCASTSD %s, Y3", expConst(7+i))
			g.p("VFMADD213PD Y3, Y0, Y2")
		}
	}
	if g.wide() {
		g.p("VSCALEFPD Z1, Z2, Z2")
		return
	}
	g.c("2^k in two factors: ⌊k/2⌋ and the rest, each added to 1.5·2^52 + 1023 and")
	g.c("shifted into the exponent.")
	g.p("VMULPD Y14, Y1, Y3")
	g.p("VROUNDPD $1, Y3, Y3")
	g.p("VSUBPD Y3, Y1, Y1")
	g.p("VADDPD Y13, Y3, Y3")
	g.p("VADDPD Y13, Y1, Y1")
	g.p("VPSLLQ $52, Y3, Y3")
	g.p("VPSLLQ $52, Y1, Y1")
	g.p("VMULPD Y3, Y2, Y2")
	g.p("VMULPD Y1, Y2, Y2")
}

func radialValues(g *gen) { radial(g, false) }
func radialSlopes(g *gen) { radial(g, true) }

// radial evaluates covariance shapes. Shape f is eight numbers: a, h, b1, b2, g1, g2, g3.
func radial(g *gen, slopes bool) {
	w := g.w
	const common = `e = exp(−(a·r + h·r²)), r² = scale·sq, at
most 1e6, NaN passing through; n ≥ 0.

SI: sq, DI: val, DX: slope, at the current entry. BX: entries left. R10: the
shape, R9: the constants of the
exponential, broadcast from memory. Registers 4: r; 0 to 3:
the exponential; 5: a polynomial; 6, on AVX-512 13 and up: constants.`
	if slopes {
		g.text("radialSlopes", "n int, val *float64, slope *float64, sq *float64, scale float64, f *float64", `
sets val to (1 + b1·r + b2·r²)·e and slope to
(g1·r + g2·r² + g3·r³)·e, `+common)
		g.load("n BX, val DI, slope DX, sq SI, f R10")
	} else {
		g.text("radialValues", "n int, val *float64, sq *float64, scale float64, variance float64, f *float64", `
sets val to variance·(1 + b1·r + b2·r²)·e, `+common)
		g.load("n BX, val DI, sq SI, f R10")
	}
	g.expConstants()
	shape := func(i int) string { return fmt.Sprintf("%d(R10)", 8*i) }
	// AVX-512 has registers for what does not change but the constants of exp.
	held := map[string]int{}
	hold := func(mem string) {
		if g.wide() {
			held[mem] = 13 + len(held)
			g.p("VBROADCASTSD %s, Z%d", mem, held[mem])
		}
	}
	constant := func(mem string, r int) int {
		if h, ok := held[mem]; ok {
			return h
		}
		g.p("VBROADCASTSD %s, %s", mem, g.v(r))
		return r
	}
	hold(g.a("scale"))
	hold("·farSquare(SB)")
	hold("·one(SB)")
	last := 4
	if slopes {
		last = 7
	} else {
		hold(g.a("variance"))
	}
	for i := range last {
		hold(shape(i))
	}
	// horner computes register 5 = register 5·r + mem.
	horner := func(mem string) {
		g.p("VFMADD213PD %s, %s, %s", g.v(constant(mem, 6)), g.v(4), g.v(5))
	}
	times := func(mem string, r int) {
		g.p("VMULPD %s, %s, %s", g.v(constant(mem, 6)), g.v(r), g.v(r))
	}
	body := func(mask string) {
		g.ldm("(SI)", mask, 0)
		times(g.a("scale"), 0)
		far := constant("·farSquare(SB)", 6)
		g.c("A NaN is the second source: that one is returned.")
		g.p("VMINPD %s, %s, %s", g.v(0), g.v(far), g.v(0))
		g.p("VSQRTPD %s, %s", g.v(0), g.v(4))
		first := func(mem string) {
			if r := constant(mem, 5); r != 5 {
				g.p("VMOVAPD %s, %s", g.v(r), g.v(5))
			}
		}
		first(shape(1))
		horner(shape(0))
		g.p("VXORPD %s, %s, %s", g.v(0), g.v(0), g.v(0))
		g.p("VFNMADD231PD %s, %s, %s", g.v(4), g.v(5), g.v(0))
		g.expBody()
		first(shape(3))
		horner(shape(2))
		horner("·one(SB)")
		g.p("VMULPD %s, %s, %s", g.v(2), g.v(5), g.v(5))
		if !slopes {
			times(g.a("variance"), 5)
		}
		g.stm(5, mask, "(DI)")
		if slopes {
			first(shape(6))
			horner(shape(5))
			horner(shape(4))
			g.p("VMULPD %s, %s, %s", g.v(4), g.v(5), g.v(5))
			g.p("VMULPD %s, %s, %s", g.v(2), g.v(5), g.v(5))
			g.stm(5, mask, "(DX)")
		}
	}
	g.p("SUBQ $%d, BX", w)
	g.lj("JLT", "tail")
	g.l("loop")
	body("")
	g.p("ADDQ $%d, SI", 8*w)
	g.p("ADDQ $%d, DI", 8*w)
	if slopes {
		g.p("ADDQ $%d, DX", 8*w)
	}
	g.p("SUBQ $%d, BX", w)
	g.lj("JGE", "loop")
	g.l("tail")
	g.p("ADDQ $%d, BX", w)
	g.lj("JLE", "done")
	body(g.laneMask("BX", "R8", 1, 7))
	g.l("done")
	g.ret()
}
