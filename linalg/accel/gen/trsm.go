package main

import "fmt"

func trsmPanel(g *gen) {
	w := g.w
	g.text("trsmPanel", "n int, y *float64, nv int, l *float64, ldl int", fmt.Sprintf(`
overwrites the packed panel Y of n rows with L⁻¹·Y, n > 0, in its
first nv vectors of columns, 1 ≤ nv ≤ 3, for a lower triangular L of which only
the lower triangle is read:

	y_j = (y_j − Σ_{k<j} l_jk·y_k)·(1/l_jj),

the sum from left to right. Row j of the panel is at y[j·%d].

A tile of up to %d rows is loaded, the rows above it are subtracted as in
gemmPanel, and the triangle on the diagonal is solved in registers with entries
of L broadcast from memory.

SI: row j of L, DX: row j of Y. R8: row stride of L in bytes, R9: three times
that. DI: Y. CX: rows left, R11: rows above. AX, BX: entry k of rows 0-3 and 4-7
of the tile of L, R12: row k of Y, R14: k, counted down.`, w*panelVectors, g.rowHeights()[0]))
	g.load("n CX, y DI, nv R10, l SI, ldl R8")
	g.p("SHLQ $3, R8")
	g.p("LEAQ (R8)(R8*2), R9")
	g.p("MOVQ DI, DX")
	g.p("XORQ R11, R11")
	g.tiles("R10", func(mr, nv int, next string, again bool) { trsmTile(g, mr, nv, next, again, false) })
}

// trsmTile is a tile of trsmPanel or, with unit, of invertPanel.
func trsmTile(g *gen, mr, nv int, next string, again, unit bool) {
	w := g.w
	row := 8 * w * panelVectors
	name := fmt.Sprintf("v%dm%d", nv, mr)
	g.l(name)
	g.p("CMPQ CX, $%d", mr)
	g.lj("JLT", next)
	rb, rbc := g.tileRegs(mr, nv)
	if unit {
		for i := range mr * nv {
			g.zero(i)
		}
		g.p("CMPQ R11, $%d", nv*w)
		g.lj("JGE", name+"z")
	}
	g.loadRows("DX", mr, nv, 0)
	if unit {
		g.l(name + "z")
	}
	g.p("MOVQ SI, AX")
	if mr == 8 {
		g.p("LEAQ (SI)(R8*4), BX")
	}
	g.p("MOVQ DI, R12")
	sum := func(label string, nv, all int) {
		g.l(label)
		g.loadRows("R12", 1, nv, rb)
		for r := range mr {
			g.fma("VFNMADD231PD", rowAddr(r, "AX", "BX", "R8", "R9"), rb, rbc, r*all, nv)
		}
		g.p("ADDQ $8, AX")
		if mr == 8 {
			g.p("ADDQ $8, BX")
		}
		g.p("ADDQ $%d, R12", row)
		g.p("DECQ R14")
		g.lj("JNZ", label)
	}
	if unit {
		// Vector j of a row begins with row j·w.
		for j := range nv - 1 {
			g.p("LEAQ %d(R11), R13", -w*j)
			g.p("MOVQ $%d, R14", w)
			g.p("CMPQ R13, R14")
			g.p("CMOVQLT R13, R14")
			g.p("TESTQ R14, R14")
			g.lj("JLE", name+"t")
			sum(fmt.Sprintf("%sk%d", name, j), j+1, nv)
		}
	}
	g.p("MOVQ R11, R14")
	if unit {
		g.p("SUBQ $%d, R14", w*(nv-1))
	} else {
		g.p("TESTQ R14, R14")
	}
	g.lj("JLE", name+"t")
	sum(name+"k", nv, nv)
	g.l(name + "t")
	g.c("The triangle: AX and BX stand at its first column.")
	for r := range mr {
		at := fmt.Sprintf("%d%s", 8*r, rowAddr(r, "AX", "BX", "R8", "R9"))
		g.p("VMOVSD ·one(SB), %s", x(rb))
		g.p("VDIVSD %s, %s, %s", at, x(rb), x(rb))
		g.scaleRow(r, nv, rb, rbc)
		for s := r + 1; s < mr; s++ {
			g.fma("VFNMADD231PD", fmt.Sprintf("%d%s", 8*r, rowAddr(s, "AX", "BX", "R8", "R9")), r*nv, rbc, s*nv, nv)
		}
	}
	g.p("SUBQ $%d, CX", mr)
	if again || mr > 1 {
		g.p("ADDQ $%d, R11", mr)
		g.p("ADDQ $%d, DX", mr*row)
		g.p("LEAQ (SI)(R8*%d), SI", mr)
	}
	if again {
		g.lj("JMP", name)
	}
}

func invertPanel(g *gen) {
	w := g.w
	g.text("invertPanel", "n int, y *float64, l *float64, ldl int", fmt.Sprintf(`
sets the packed panel Y of n rows to the first %d columns of L⁻¹, n > 0:
trsmPanel for the first columns of the unit matrix, of which rows 0 to %d have to
stand in the panel, as far as there are so many.

What is known to be zero is not subtracted: vector j of a row of Y begins with row
%d·j.

Registers as in trsmPanel, R13: scratch.`, w*panelVectors, w*panelVectors-1, w))
	g.load("n CX, y DI, l SI, ldl R8")
	g.p("SHLQ $3, R8")
	g.p("LEAQ (R8)(R8*2), R9")
	g.p("MOVQ DI, DX")
	g.p("XORQ R11, R11")
	g.heights(panelVectors, func(mr, nv int, next string, again bool) { trsmTile(g, mr, nv, next, again, true) })
	g.l("done")
	g.ret()
}

func backPanel(g *gen) {
	w := g.w
	g.text("backPanel", "n int, y *float64, nv int, l *float64, ldl int", fmt.Sprintf(`
is trsmPanel for the transpose: it overwrites the packed panel Y with L⁻ᵀ·Y,

	y_j = (y_j − Σ_{k>j} l_kj·y_k)·(1/l_jj),

from the last row up, the sum from the tile on downwards.

SI: entry of L on the diagonal, DX: row of Y, at the first row of the tile. R8: row
stride of L in bytes, R9: three times that. CX: rows left, R11: rows below. AX: row
k of L at the tile's columns, R12: row k of Y, R14: k, counted down. BX: rows 4-7 of
the triangle.`))
	g.load("n CX, y DX, nv R10, l SI, ldl R8")
	g.p("IMUL3Q $%d, CX, AX", 8*w*panelVectors)
	g.p("ADDQ AX, DX")
	g.p("LEAQ 1(R8), AX")
	g.p("IMULQ CX, AX")
	g.p("LEAQ (SI)(AX*8), SI")
	g.p("SHLQ $3, R8")
	g.p("LEAQ (R8)(R8*2), R9")
	g.p("XORQ R11, R11")
	g.tiles("R10", func(mr, nv int, next string, again bool) { backTile(g, mr, nv, next, again) })
}

func backTile(g *gen, mr, nv int, next string, again bool) {
	w := g.w
	row := 8 * w * panelVectors
	name := fmt.Sprintf("v%dm%d", nv, mr)
	g.l(name)
	g.p("CMPQ CX, $%d", mr)
	g.lj("JLT", next)
	rb, rbc := g.tileRegs(mr, nv)
	g.p("SUBQ $%d, DX", mr*row)
	g.p("LEAQ -%d(SI), AX", 8*mr)
	g.p("MOVQ R8, BX")
	g.p("IMULQ $-%d, BX", mr)
	g.p("LEAQ (AX)(BX*1), SI")
	g.loadRows("DX", mr, nv, 0)
	g.p("LEAQ %d(DX), R12", mr*row)
	g.p("MOVQ R11, R14")
	g.p("TESTQ R14, R14")
	g.lj("JLE", name+"t")
	g.l(name + "k")
	g.loadRows("R12", 1, nv, rb)
	for r := range mr {
		g.fma("VFNMADD231PD", fmt.Sprintf("%d(AX)", 8*r), rb, rbc, r*nv, nv)
	}
	g.p("ADDQ R8, AX")
	g.p("ADDQ $%d, R12", row)
	g.p("DECQ R14")
	g.lj("JNZ", name+"k")
	g.l(name + "t")
	g.c("The triangle.")
	if mr == 8 {
		g.p("LEAQ (SI)(R8*4), BX")
	}
	for r := mr - 1; r >= 0; r-- {
		at := rowAddr(r, "SI", "BX", "R8", "R9")
		g.p("VMOVSD ·one(SB), %s", x(rb))
		g.p("VDIVSD %d%s, %s, %s", 8*r, at, x(rb), x(rb))
		g.scaleRow(r, nv, rb, rbc)
		for s := r - 1; s >= 0; s-- {
			g.fma("VFNMADD231PD", fmt.Sprintf("%d%s", 8*s, at), r*nv, rbc, s*nv, nv)
		}
	}
	g.p("SUBQ $%d, CX", mr)
	g.p("ADDQ $%d, R11", mr)
	if again {
		g.lj("JMP", name)
	}
}

func trsmRows(g *gen) {
	w, rows := g.w, g.dotRows()
	g.text("trsmRows", "m int, n int, x *float64, ldx int, l *float64, ldl int", fmt.Sprintf(`
overwrites the rows of X, m×n, m, n > 0, with X·L⁻ᵀ: the operation of
trsmPanel for few rows, without packing.

%d rows of X and %d unknowns at a time. The products with the unknowns before are
inner products, as in gemmDots. The triangle on the diagonal is transposed and
its rows divided by their diagonal entry, so that every step of the solve is one
broadcast of an unknown and one multiplication with a column. Pointers beyond the
last row of X or of L repeat it; rows of the triangle are read under masks that
end at the diagonal, unknowns under a mask that ends at n.

AX, BX, DX, SI: rows of X. DI, R8, R9, R12: rows of L. R10: index in bytes,
R11: its limit, the first unknown. R13: row of L of the first unknown. R14:
unknowns left. CX: scratch. m and x on the stack count the rows of X.`, rows, w))
	g.p("SHLQ $3, %s", g.a("ldx"))
	g.p("SHLQ $3, %s", g.a("ldl"))
	g.l("rows")
	g.load("x AX, m CX, ldx R10")
	g.clamp(dotA[:rows], "R10", "CX")
	g.load("n R14, l R13")
	g.p("XORQ R11, R11")
	g.rowMasks()
	sum := g.rowSums()
	g.l("cols")
	g.p("TESTQ R11, R11")
	g.lj("JNZ", "dots")
	for r := range rows {
		g.zero(sum + r)
	}
	g.lj("JMP", "solve")
	g.l("dots")
	g.p("MOVQ R13, DI")
	g.p("MOVQ %s, R10", g.a("ldl"))
	g.clamp(dotB, "R10", "R14")
	g.dotTile("t", "", rows, 4)
	g.dotReduce(rows)
	if g.wide() {
		g.p("VMOVAPD Z0, Z24")
		g.p("VMOVAPD Z8, Z25")
		g.p("VXORPD Z0, Z0, Z0")
		g.p("VXORPD Z8, Z8, Z8")
		g.p("CMPQ R14, $4")
		g.lj("JLE", "half")
		g.c("Unknowns 4 to 7.")
		g.p("LEAQ -4(R14), CX")
		g.p("MOVQ %s, R10", g.a("ldl"))
		g.p("LEAQ (R13)(R10*4), DI")
		g.clamp(dotB, "R10", "CX")
		g.dotTile("u", "", rows, 4)
		g.dotReduce(rows)
		g.l("half")
		g.p("VSHUFF64X2 $0x44, Z0, Z24, Z26")
		g.p("VSHUFF64X2 $0xEE, Z0, Z24, Z27")
		g.p("VSHUFF64X2 $0x44, Z8, Z25, Z28")
		g.p("VSHUFF64X2 $0xEE, Z8, Z25, Z29")
	} else {
		for r := range rows {
			g.p("VMOVAPD %s, %s", y(4*r), y(sum+r))
		}
	}
	g.l("solve")
	g.rowSolve(rows)
	g.l("next")
	g.load("ldx R10")
	g.p("IMULQ $%d, R10", rows)
	g.p("ADDQ R10, %s", g.a("x"))
	g.p("SUBQ $%d, %s", rows, g.a("m"))
	g.lj("JGT", "rows")
	g.ret()
}

// rowMasks prepares the masks of rowSolve: of the lanes from c on in K_c.
func (g *gen) rowMasks() {
	if g.wide() {
		for c := 1; c < 8; c++ {
			g.p("MOVL $0x%X, R10", 0xFF<<c&0xFF)
			g.p("KMOVW R10, K%d", c)
		}
	}
}

// rowSums is the register of the sums of row 0 of X; those of the others follow.
func (g *gen) rowSums() int {
	if g.wide() {
		return 26
	}
	return 12
}

// rowSolve solves for the unknowns of one vector, R14 of them being left, in so many rows of X at once, moves on and jumps
// to cols if there are more; R11 is their place in bytes and R13 their first row of L.
func (g *gen) rowSolve(rows int) {
	w, sum := g.w, g.rowSums()
	g.c("The triangle, a row at a time up to the diagonal.")
	g.p("LEAQ (R13)(R11*1), R12")
	// The mask of a row, what it is made of in R8, and that of one lane more.
	one, set, more, lanes := "MOVL $1, R8", "KMOVW R8, K7", "LEAQ 1(R8)(R8*1), R9", "K7"
	if !g.wide() {
		one, set, more, lanes = "LEAQ ·lanes+24(SB), R8", "VMOVUPD (R8), Y15", "LEAQ -8(R8), R9", "Y15"
	}
	g.p("%s", one)
	for r := range w {
		g.p("%s", set)
		g.ldm("(R12)", lanes, r)
		if r < w-1 {
			g.p("%s", more)
			g.p("MOVQ R12, CX")
			g.p("ADDQ %s, CX", g.a("ldl"))
			g.p("CMPQ R14, $%d", r+1)
			g.p("CMOVQGT R9, R8")
			g.p("CMOVQGT CX, R12")
		}
	}
	if g.wide() {
		g.p("MOVL $0x80, R8")
		g.p("KMOVW R8, K7")
		g.c("The diagonal, and its reciprocals.")
		g.p("VMOVAPD Z0, Z16")
		for r := 1; r < w; r++ {
			g.p("VMOVAPD Z%d, K%d, Z16", r, r)
		}
	} else {
		g.c("The diagonal, and its reciprocals.")
		g.p("VBLENDPD $0xE, Y1, Y0, Y8")
		g.p("VBLENDPD $0xC, Y2, Y8, Y8")
		g.p("VBLENDPD $0x8, Y3, Y8, Y8")
	}
	inv := map[bool]int{true: 16, false: 8}[g.wide()]
	t := inv + 1
	g.p("VBROADCASTSD ·one(SB), %s", g.v(t))
	g.p("VDIVPD %s, %s, %s", g.v(inv), g.v(t), g.v(inv))
	g.transpose()
	for c := range w - 1 {
		g.p("VMULPD %s, %s, %s", g.v(inv), g.v(c), g.v(c))
	}
	g.c("What is left of the right-hand sides, over the diagonal.")
	g.p("MOVQ $%d, R8", w)
	g.p("CMPQ R14, R8")
	g.p("CMOVQLT R14, R8")
	mask := g.laneMask("R8", "R9", 7, 15) // K7 is made again below
	for r := range rows {
		g.ldm(fmt.Sprintf("(%s)(R11*1)", dotA[r]), mask, t)
		g.p("VSUBPD %s, %s, %s", g.v(sum+r), g.v(t), g.v(sum+r))
		g.p("VMULPD %s, %s, %s", g.v(inv), g.v(sum+r), g.v(sum+r))
	}
	if g.wide() {
		g.p("MOVL $0x80, R9")
		g.p("KMOVW R9, K7")
		for c := 1; c < w-1; c++ {
			g.p("VPBROADCASTQ ·index+%d(SB), Z%d", 8*c, 8+c)
		}
	}
	g.c("Unknown by unknown.")
	for c := range w - 1 {
		for r := range rows {
			switch {
			case c == 0:
				g.p("VBROADCASTSD %s, %s", x(sum+r), g.v(t+r))
			case g.wide():
				g.p("VPERMPD Z%d, Z%d, Z%d", sum+r, 8+c, t+r)
			default:
				g.p("VPERMPD $0x%X, %s, %s", 0x55*c, y(sum+r), y(t+r))
			}
		}
		for r := range rows {
			if g.wide() {
				g.p("VFNMADD231PD Z%d, Z%d, K%d, Z%d", c, t+r, c+1, sum+r)
			} else {
				g.p("VFNMADD213PD %s, %s, %s", y(sum+r), y(c), y(t+r))
				g.p("VBLENDPD $0x%X, %s, %s, %s", 0xF<<(c+1)&0xF, y(t+r), y(sum+r), y(sum+r))
			}
		}
	}
	g.p("CMPQ R8, $%d", w)
	g.lj("JLT", "last")
	for r := range rows {
		g.stm(sum+r, "", fmt.Sprintf("(%s)(R11*1)", dotA[r]))
	}
	g.p("ADDQ $%d, R11", 8*w)
	g.p("MOVQ %s, R10", g.a("ldl"))
	g.p("LEAQ (R13)(R10*%d), R13", w)
	g.p("SUBQ $%d, R14", w)
	g.lj("JGT", "cols")
	g.lj("JMP", "next")
	g.l("last")
	if g.wide() {
		mask = g.laneMask("R8", "R9", 7, 15)
	}
	for r := range rows {
		g.stm(sum+r, mask, fmt.Sprintf("(%s)(R11*1)", dotA[r]))
	}
}

func trsmRow(g *gen) {
	w := g.w
	lRows := []string{"BX", "DX", "SI", "DI", "R8", "R9", "R12", "R15"}[:w]
	g.text("trsmRow", "n int, x *float64, l *float64, ldl int", fmt.Sprintf(`
overwrites the row x, of length n > 0, with x·L⁻ᵀ: trsmRows for one row.

%d unknowns at a time, of which the products with those before are summed side by
side, lane by lane.

AX: x. %v: rows of L. R10: index in bytes, R11: its limit, the first unknown. R13:
row of L of the first unknown. R14: unknowns left. CX: scratch.`, w, lRows))
	g.p("SHLQ $3, %s", g.a("ldl"))
	g.load("n R14, x AX, l R13")
	g.p("XORQ R11, R11")
	g.rowMasks()
	sum := g.rowSums()
	g.l("cols")
	g.zero(sum)
	g.p("TESTQ R11, R11")
	g.lj("JZ", "solve")
	g.p("MOVQ R13, %s", lRows[0])
	g.p("MOVQ %s, R10", g.a("ldl"))
	g.clamp(lRows, "R10", "R14")
	for i := range w {
		g.zero(i)
	}
	g.p("XORQ R10, R10")
	g.l("k")
	g.p("VMOVUPD (AX)(R10*1), %s", g.v(w))
	for i, r := range lRows {
		g.p("VFMADD231PD (%s)(R10*1), %s, %s", r, g.v(w), g.v(i))
	}
	g.p("ADDQ $%d, R10", 8*w)
	g.p("CMPQ R10, R11")
	g.lj("JLT", "k")
	g.dotReduce(w / 4)
	g.p("VMOVAPD %s, %s", g.v(0), g.v(sum))
	g.l("solve")
	g.rowSolve(1)
	g.l("next")
	g.ret()
}
