package main

import "fmt"

var symRowPtrs = []string{"AX", "BX", "DX", "SI"}

func symPass(g *gen) {
	rows := g.dotRows()
	g.text("symPass", "n int, a *float64, lda int, v *float64, w *float64, x *float64, y *float64", fmt.Sprintf(`
is one pass over the lower triangle of A, n×n: A −= v·wᵀ + w·vᵀ and,
for y zero before, y = A·x.

Rows are taken %d at a time, at the end singly. Whole vectors of columns left of
the diagonal come first; the last vector, which holds the diagonal, is read and
written under a mask for each row that ends with its diagonal entry, and the
products with entries above the row end one lane before.

AX, BX, DX, SI: rows of A, R15 the first. R10: index in bytes, R11: its limit.
DI, R8, R9, R12: v, w, x, y. R13: rows left. R14: rows done. CX: scratch.`, rows))
	g.load("n R13, a R15, v DI, w R8, x R9, y R12")
	g.p("SHLQ $3, %s", g.a("lda"))
	g.p("XORQ R14, R14")
	symRows(g, rows, "single")
	g.lj("JMP", "rows")
	g.l("single")
	g.prefix += "1"
	symRows(g, 1, "done")
	g.lj("JMP", "rows")
	g.l("done")
	g.ret()
}

func symRows(g *gen, rows int, next string) {
	w := g.w
	// Registers: v, w and x of the rows, sums, then v, w, x and y along them.
	rv, rw, rx, rs := 0, rows, 2*rows, 3*rows
	cv := 4 * rows
	cw, cx, cy, t := cv+1, cv+2, cv+3, cv+4
	ptr := symRowPtrs[:rows]
	g.l("rows")
	g.p("CMPQ R13, $%d", rows)
	g.lj("JLT", next)
	g.p("MOVQ R15, AX")
	for r := 1; r < rows; r++ {
		g.p("MOVQ %s, %s", ptr[r-1], ptr[r])
		g.p("ADDQ %s, %s", g.a("lda"), ptr[r])
	}
	for r := range rows {
		g.p("VBROADCASTSD %d(DI)(R14*8), %s", 8*r, g.v(rv+r))
		g.p("VBROADCASTSD %d(R8)(R14*8), %s", 8*r, g.v(rw+r))
		g.p("VBROADCASTSD %d(R9)(R14*8), %s", 8*r, g.v(rx+r))
		g.zero(rs + r)
	}
	g.p("XORQ R10, R10")
	g.p("MOVQ R14, R11")
	g.p("ANDQ $-%d, R11", w)
	g.p("SHLQ $3, R11")
	g.lj("JZ", "last")
	g.l("cols")
	along := func(mask string) {
		g.ldm("(DI)(R10*1)", mask, cv)
		g.ldm("(R8)(R10*1)", mask, cw)
		g.ldm("(R9)(R10*1)", mask, cx)
		g.ldm("(R12)(R10*1)", mask, cy)
	}
	update := func(r int) {
		g.p("VFNMADD231PD %s, %s, %s", g.v(cw), g.v(rv+r), g.v(t))
		g.p("VFNMADD231PD %s, %s, %s", g.v(cv), g.v(rw+r), g.v(t))
	}
	along("")
	for r := range rows {
		mem := fmt.Sprintf("(%s)(R10*1)", ptr[r])
		g.ldm(mem, "", t)
		update(r)
		g.stm(t, "", mem)
		g.p("VFMADD231PD %s, %s, %s", g.v(cx), g.v(t), g.v(rs+r))
		g.p("VFMADD231PD %s, %s, %s", g.v(rx+r), g.v(t), g.v(cy))
	}
	g.stm(cy, "", "(R12)(R10*1)")
	g.p("ADDQ $%d, R10", 8*w)
	g.p("CMPQ R10, R11")
	g.lj("JLT", "cols")
	g.l("last")
	g.p("MOVQ R14, CX")
	g.p("ANDQ $%d, CX", w-1)
	if g.wide() {
		g.c("K1 has the lanes left of the first row's diagonal, K2 one more, and so on.")
		g.p("MOVL $1, R11")
		g.p("SHLL CX, R11")
		g.p("DECL R11")
		for r := range rows + 1 {
			g.p("KMOVW R11, K%d", r+1)
			if r < rows {
				g.p("LEAL 1(R11)(R11*1), R11")
			}
		}
		all := k(rows + 1)
		along(all)
		for r := range rows {
			mem := fmt.Sprintf("(%s)(R10*1)", ptr[r])
			g.ldm(mem, k(r+2), t)
			update(r)
			g.stm(t, k(r+2), mem)
			g.p("VFMADD231PD %s, %s, %s, %s", g.v(cx), g.v(t), k(r+2), g.v(rs+r))
			g.p("VFMADD231PD %s, %s, %s, %s", g.v(rx+r), g.v(t), k(r+1), g.v(cy))
		}
		g.c("The rows' own sums go to the lanes from their first diagonal entry on.")
		if rows == 4 {
			g.fourSums(rs, t+1)
		} else {
			g.spreadSum(rs, t+1)
		}
		g.p("KANDNW %s, K1, K6", all)
		g.p("VEXPANDPD.Z %s, K6, %s", g.v(rs), g.v(t))
		g.p("VADDPD %s, %s, %s", g.v(t), g.v(cy), g.v(cy))
		g.stm(cy, all, "(R12)(R10*1)")
	} else {
		m, tmp := 15, 14
		g.c("8 bytes lower in the table is a mask of one lane more.")
		g.p("SHLQ $3, CX")
		g.p("NEGQ CX")
		g.p("LEAQ ·lanes+32(SB), R11")
		g.p("ADDQ R11, CX")
		g.p("VMOVUPD %d(CX), %s", -8*rows, y(m))
		along(y(m))
		for r := range rows {
			mem := fmt.Sprintf("(%s)(R10*1)", ptr[r])
			g.p("VMOVUPD %d(CX), %s", -8*(r+1), y(m))
			g.ldm(mem, y(m), t)
			update(r)
			g.stm(t, y(m), mem)
			g.p("VMOVAPD %s, %s", y(rs+r), y(tmp))
			g.p("VFMADD231PD %s, %s, %s", y(cx), y(t), y(tmp))
			g.p("VBLENDVPD %s, %s, %s, %s", y(m), y(tmp), y(rs+r), y(rs+r))
			g.p("VMOVUPD %d(CX), %s", -8*r, y(m))
			g.p("VMOVAPD %s, %s", y(cy), y(tmp))
			g.p("VFMADD231PD %s, %s, %s", y(rx+r), y(t), y(tmp))
			g.p("VBLENDVPD %s, %s, %s, %s", y(m), y(tmp), y(cy), y(cy))
		}
		g.c("The rows' own sums go to the lanes from their first diagonal entry on.")
		g.p("VHADDPD %s, %s, %s", y(rs+rows-1), y(rs), y(t))
		g.p("VEXTRACTF128 $1, %s, %s", y(t), x(tmp))
		g.p("VADDPD %s, %s, %s", x(tmp), x(t), x(t))
		if rows == 1 {
			g.p("VBROADCASTSD %s, %s", x(t), y(t))
		} else {
			g.p("VPERM2F128 $0, %s, %s, %s", y(t), y(t), y(t))
		}
		g.p("VMOVUPD (CX), %s", y(tmp))
		g.p("VMOVUPD %d(CX), %s", -8*rows, y(m))
		g.p("VANDNPD %s, %s, %s", y(m), y(tmp), y(tmp))
		g.p("VANDPD %s, %s, %s", y(tmp), y(t), y(t))
		g.p("VADDPD %s, %s, %s", y(t), y(cy), y(cy))
		g.stm(cy, y(m), "(R12)(R10*1)")
	}
	g.p("ADDQ $%d, R14", rows)
	g.p("SUBQ $%d, R13", rows)
	g.p("MOVQ %s, R10", g.a("lda"))
	g.p("LEAQ (R15)(R10*%d), R15", rows)
}

func bidiagPass(g *gen) {
	heights := []int{8, 4, 1}
	if !g.wide() {
		heights = []int{4, 1}
	}
	g.text("bidiagPass", "m int, n int, a *float64, lda int, u *float64, z *float64, s *float64, v *float64, p *float64, gamma float64, y *float64, c *float64, r *float64", fmt.Sprintf(`
is one pass over A, m×n, m, n > 0: A −= u·zᵀ + s·vᵀ, y = A·p,
c = A·e₀ + gamma·y and, for r zero before, r = Aᵀ·c.

Rows are taken %d at a time, then fewer. A group of rows goes twice along its
columns, the second time from the first-level cache: for the update and y, and
for r. The last vector of columns is read and written under a mask.

R15: group of rows; AX, BX: rows 0-3 and 4-7 at the current column. R8: row
stride in bytes, R9: three times that. R10: column in bytes, R11: its limit. DI,
SI, DX, R12: z, v, p, r. R13: rows left, R14: rows done. CX: scratch.`, heights[0]))
	g.load("n AX")
	mask := g.kLimit("AX", 1, 15)
	g.load("m R13, a R15, lda R8, z DI, v SI, p DX, r R12")
	g.p("SHLQ $3, R8")
	g.p("LEAQ (R8)(R8*2), R9")
	g.p("XORQ R14, R14")
	for i, rows := range heights {
		next := "done"
		if i+1 < len(heights) {
			next = fmt.Sprintf("r%d", heights[i+1])
		}
		bidiagRows(g, rows, mask, next)
	}
	g.l("done")
	g.ret()
}

func bidiagRows(g *gen, rows int, mask, next string) {
	w := g.w
	ru, rs, ra := 0, rows, 2*rows
	cz := 3 * rows
	cv, cp, t := cz+1, cz+2, cz+3
	name := fmt.Sprintf("r%d", rows)
	at := func(r int) string { return rowAddr(r, "AX", "BX", "R8", "R9") }
	first := func() {
		g.p("XORQ R10, R10")
		g.p("MOVQ R15, AX")
		if rows == 8 {
			g.p("LEAQ (R15)(R8*4), BX")
		}
	}
	further := func() {
		g.p("ADDQ $%d, AX", 8*w)
		if rows == 8 {
			g.p("ADDQ $%d, BX", 8*w)
		}
		g.p("ADDQ $%d, R10", 8*w)
		g.p("CMPQ R10, R11")
	}
	tail := func(label string) {
		g.p("TESTQ $%d, %s", w-1, g.a("n"))
		g.lj("JZ", label)
		if !g.wide() {
			// The mask's register is t's in some heights: it is made again.
			g.p("LEAQ ·lanes+32(SB), CX")
			g.p("MOVQ %s, R10", g.a("n"))
			g.p("ANDQ $%d, R10", w-1)
			g.p("NEGQ R10")
			g.p("VMOVUPD (CX)(R10*8), Y15")
			g.p("MOVQ R11, R10")
		}
	}
	g.l(name)
	g.p("CMPQ R13, $%d", rows)
	g.lj("JLT", next)
	g.p("MOVQ %s, CX", g.a("u"))
	for r := range rows {
		g.p("VBROADCASTSD %d(CX)(R14*8), %s", 8*r, g.v(ru+r))
	}
	g.p("MOVQ %s, CX", g.a("s"))
	for r := range rows {
		g.p("VBROADCASTSD %d(CX)(R14*8), %s", 8*r, g.v(rs+r))
	}
	for r := range rows {
		g.zero(ra + r)
	}
	first()
	g.p("CMPQ R10, R11")
	g.lj("JGE", name+"tail")
	g.l(name + "cols")
	along := func(mask string) {
		g.ldm("(DI)(R10*1)", mask, cz)
		g.ldm("(SI)(R10*1)", mask, cv)
		g.ldm("(DX)(R10*1)", mask, cp)
	}
	update := func(r, u, t int, mask string) {
		g.ldm(at(r), mask, t)
		g.p("VFNMADD231PD %s, %s, %s", g.v(cz), g.v(u), g.v(t))
		g.p("VFNMADD231PD %s, %s, %s", g.v(cv), g.v(rs+r), g.v(t))
		g.stm(t, mask, at(r))
		// Lanes off hold −u·0 − s·0, which an infinite u or s makes NaN.
		switch {
		case mask == "":
			g.p("VFMADD231PD %s, %s, %s", g.v(cp), g.v(t), g.v(ra+r))
		case g.wide():
			g.p("VFMADD231PD %s, %s, %s, %s", g.v(cp), g.v(t), mask, g.v(ra+r))
		default:
			g.p("VANDPD %s, %s, %s", mask, g.v(t), g.v(t))
			g.p("VFMADD231PD %s, %s, %s", g.v(cp), g.v(t), g.v(ra+r))
		}
	}
	along("")
	for r := range rows {
		update(r, ru+r, t, "")
	}
	further()
	g.lj("JLT", name+"cols")
	g.l(name + "tail")
	tail(name + "sums")
	g.c("Lanes off hold 0 − u·0 − s·0, NaN for an infinite u or s: they are left out")
	g.c("of y.")
	along(mask)
	if t < 15 || g.wide() {
		for r := range rows {
			update(r, ru+r, t, mask)
		}
	} else {
		g.c("There is no register for t but that of u_0, which is read again for row 0.")
		for r := rows - 1; r > 0; r-- {
			update(r, ru+r, ru, mask)
		}
		g.p("MOVQ %s, CX", g.a("u"))
		g.p("VBROADCASTSD (CX)(R14*8), %s", g.v(ru+1))
		update(0, ru+1, ru, mask)
	}
	g.l(name + "sums")
	g.p("MOVQ %s, CX", g.a("y"))
	tmp := 28 // on AVX-512
	switch {
	case rows == 8:
		for r := 0; r < rows; r += 2 {
			g.pairs(ra+r, ra+r+1, ra+r, tmp)
		}
		g.halves(ra, ra+2, ra, tmp)
		g.halves(ra+4, ra+6, ra+4, tmp)
		g.quarters(ra, ra+4, ra, tmp)
		g.p("VMOVUPD Z%d, (CX)(R14*8)", ra)
	case rows == 4:
		g.fourSums(ra, tmp)
		g.p("VMOVUPD %s, (CX)(R14*8)", y(ra))
	case g.wide():
		g.spreadSum(ra, tmp)
		g.p("VMOVSD X%d, (CX)(R14*8)", ra)
	default:
		g.p("VHADDPD %s, %s, %s", y(ra), y(ra), y(ra))
		g.p("VEXTRACTF128 $1, %s, %s", y(ra), x(ra+1))
		g.p("VADDSD %s, %s, %s", x(ra+1), x(ra), x(ra))
		g.p("VMOVSD %s, (CX)(R14*8)", x(ra))
	}
	g.c("c, then r.")
	first()
	g.p("MOVQ %s, R10", g.a("c"))
	sc := rows // a register past c's
	g.p("VMOVSD %s, %s", g.a("gamma"), x(sc))
	for r := range rows {
		g.p("VMOVSD %s, %s", at(r), x(r))
		g.p("VFMADD231SD %d(CX)(R14*8), %s, %s", 8*r, x(sc), x(r))
		g.p("VMOVSD %s, %d(R10)(R14*8)", x(r), 8*r)
		g.p("VBROADCASTSD %s, %s", x(r), g.v(r))
	}
	g.p("XORQ R10, R10")
	g.p("CMPQ R10, R11")
	g.lj("JGE", name+"rtail")
	g.l(name + "rcols")
	g.p("VMOVUPD (R12)(R10*1), %s", g.v(cz))
	for r := range rows {
		g.p("VFMADD231PD %s, %s, %s", at(r), g.v(r), g.v(cz))
	}
	g.p("VMOVUPD %s, (R12)(R10*1)", g.v(cz))
	further()
	g.lj("JLT", name+"rcols")
	g.l(name + "rtail")
	tail(name + "next")
	g.ldm("(R12)(R10*1)", mask, cz)
	for r := range rows {
		g.ldm(at(r), mask, cv)
		g.p("VFMADD231PD %s, %s, %s", g.v(cv), g.v(r), g.v(cz))
	}
	g.stm(cz, mask, "(R12)(R10*1)")
	g.l(name + "next")
	g.p("ADDQ $%d, R14", rows)
	g.p("SUBQ $%d, R13", rows)
	g.p("LEAQ (R15)(R8*%d), R15", rows)
	g.lj("JMP", name)
}
