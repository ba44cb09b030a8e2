package main

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// A group is a part of the project whose formulas are changed.
type group struct {
	name  string
	files []string // patterns, from the root of the module
	tests []suite  // tried in this order
}

// A suite is tests of a package, all or those whose names match.
type suite struct{ pkg, run string }

// mutants lists the mutants of a group in the order of the sources.
func (g group) mutants(root string) ([]mutant, error) {
	var ms []mutant
	for _, pattern := range g.files {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		found := false
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			found = true
			file, err := filepath.Rel(root, name)
			if err != nil {
				return nil, err
			}
			src, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			fileMutants, err := sites(filepath.ToSlash(file), src)
			if err != nil {
				return nil, err
			}
			ms = append(ms, fileMutants...)
		}
		if !found {
			return nil, fmt.Errorf("group %s: no file %s", g.name, pattern)
		}
	}
	for i := range ms {
		ms[i].id = g.name + " " + ms[i].id
	}
	return ms, nil
}

// A mutant is a file with the bytes [start, end) replaced.
type mutant struct {
	// id names the mutant by its file, its function, the operator and which of
	// its places in the function it is, so that it outlives changes elsewhere.
	id          string
	file        string
	line        int
	start, end  int
	replacement string
	original    []byte // the whole file
	sum         string // of original
}

func (m mutant) place() string { return fmt.Sprintf("%s:%d", m.file, m.line) }

// change tells what is replaced by what.
func (m mutant) change() string {
	was := string(m.original[m.start:m.end])
	if i := strings.IndexByte(was, '\n'); i >= 0 {
		was = was[:i] + " ..."
	}
	return fmt.Sprintf("%s -> %s", was, m.replacement)
}

// Operators of binary expressions and of assignments and what takes their place.
var swaps = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.QUO},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN},
	token.QUO_ASSIGN:     {token.MUL_ASSIGN},
	token.AND_NOT_ASSIGN: {token.OR_ASSIGN}, token.OR_ASSIGN: {token.AND_NOT_ASSIGN}, token.AND: {token.OR},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
}

// Functions and what is called in their place; "" stands for the argument itself.
var calls = map[string]string{
	"max": "min", "min": "max", "math.Max": "math.Min", "math.Min": "math.Max", "math.Sqrt": "", "math.Abs": "",
	"math.Log": "math.Log1p", "math.Exp": "math.Expm1", "math.Log1p": "math.Log", "math.Expm1": "math.Exp",
	"math.Erfc":  "math.Erf",
	"slices.Max": "slices.Min", "slices.Min": "slices.Max",
}

// sites lists the mutants of a file. What only shapes the message of an error or
// of a panic, numbers returned beside an error, and comparisons with nil are left
// alone.
func sites(file string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(src))[:16]
	var out []mutant
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "String" || f.Name.Name == "Error" || f.Name.Name == "init" {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f.Recv.List[0].Type) + "." + name
		}
		count := make(map[string]int)
		beside := besideErrors(f.Body)
		add := func(op string, start, end token.Pos, replacement string) {
			count[op]++
			if beside[start] {
				return
			}
			out = append(out, mutant{
				id:   fmt.Sprintf("%s %s %s %d", file, name, op, count[op]),
				file: file, line: fset.Position(start).Line,
				start: fset.Position(start).Offset, end: fset.Position(end).Offset, replacement: replacement, original: src,
				sum: sum,
			})
		}
		ast.Inspect(f.Body, func(n ast.Node) bool { return visit(n, add) })
	}
	return out, nil
}

func visit(n ast.Node, add func(op string, start, end token.Pos, replacement string)) (descend bool) {
	text := func(op token.Token) int { return len(op.String()) }
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if isIdent(n.X, "nil") || isIdent(n.Y, "nil") || isString(n.X) || isString(n.Y) {
			return false
		}
		for _, op := range swaps[n.Op] {
			add(n.Op.String()+"to"+op.String(), n.OpPos, n.OpPos+token.Pos(text(n.Op)), op.String())
		}
	case *ast.AssignStmt:
		for _, op := range swaps[n.Tok] {
			add(n.Tok.String()+"to"+op.String(), n.TokPos, n.TokPos+token.Pos(text(n.Tok)), op.String())
		}
		if n.Tok == token.ASSIGN && len(n.Lhs) == 1 && len(n.Rhs) == 1 && !isIdent(n.Lhs[0], "_") {
			add("unassigned", n.Lhs[0].Pos(), n.Lhs[0].End(), "_")
		}
	case *ast.ExprStmt:
		if c, ok := n.X.(*ast.CallExpr); ok && !isMessage(c) {
			add("uncalled", n.Pos(), n.End(), "_ = 0")
		}
	case *ast.IncDecStmt:
		if n.Tok == token.INC {
			add("++to--", n.TokPos, n.TokPos+2, "--")
		} else {
			add("--to++", n.TokPos, n.TokPos+2, "++")
		}
	case *ast.ForStmt: // the step is left alone: most changes of it never end
		for _, part := range []ast.Node{n.Init, n.Cond, n.Body} {
			if part != nil {
				ast.Inspect(part, func(m ast.Node) bool { return visit(m, add) })
			}
		}
		return false
	case *ast.UnaryExpr:
		switch n.Op {
		case token.SUB:
			add("-removed", n.OpPos, n.OpPos+1, "+")
		case token.NOT:
			add("!removed", n.OpPos, n.OpPos+1, "")
		}
	case *ast.IfStmt:
		switch n.Cond.(type) {
		case *ast.BinaryExpr, *ast.UnaryExpr:
		default:
			add("negated", n.Cond.Pos(), n.Cond.Pos(), "!")
		}
	case *ast.ArrayType: // a longer array has an element that nobody reads, or does not compile
		return false
	case *ast.BasicLit:
		switch n.Kind {
		case token.INT:
			add("plus1", n.Pos(), n.End(), "("+n.Value+"+1)")
		case token.FLOAT:
			add("times2plus1", n.Pos(), n.End(), "(2*"+n.Value+"+1)")
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			add("truetofalse", n.Pos(), n.End(), "false")
		case "false":
			add("falsetotrue", n.Pos(), n.End(), "true")
		}
	case *ast.CallExpr:
		if isMessage(n) {
			return false
		}
		if to, ok := calls[callee(n)]; ok && len(n.Args) > 0 {
			add(callee(n)+"to"+to, n.Fun.Pos(), n.Fun.End(), to)
		}
		if callee(n) == "math.IsInf" && len(n.Args) == 2 {
			sign := n.Args[1]
			u, negative := sign.(*ast.UnaryExpr)
			if negative {
				sign = u.X
			}
			if one, ok := sign.(*ast.BasicLit); ok && one.Value == "1" { // 2 says the same
				ast.Inspect(n.Args[0], func(m ast.Node) bool { return visit(m, add) })
				if negative {
					add("-removed", u.OpPos, u.OpPos+1, "+")
				}
				return false
			}
		}
	}
	return true
}

// besideErrors returns where numbers and truth values stand that are returned
// together with an error.
func besideErrors(body *ast.BlockStmt) map[token.Pos]bool {
	out := make(map[token.Pos]bool)
	ast.Inspect(body, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok || len(r.Results) < 2 {
			return true
		}
		var name string
		switch last := r.Results[len(r.Results)-1].(type) {
		case *ast.Ident:
			name = last.Name
		case *ast.CallExpr:
			name = callee(last)
		}
		if strings.Contains(strings.ToLower(name), "err") || strings.HasPrefix(name, "fault.") {
			for _, x := range r.Results[:len(r.Results)-1] {
				if u, ok := x.(*ast.UnaryExpr); ok {
					out[u.Pos()], x = true, u.X
				}
				switch x.(type) {
				case *ast.BasicLit, *ast.Ident:
					out[x.Pos()] = true
				}
			}
		}
		return true
	})
	return out
}

// callee returns the name of the function called, with its package's if it has one.
func callee(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// isMessage reports whether a call makes an error or panics, or, as math.Inf, takes
// numbers of which only the sign counts.
func isMessage(c *ast.CallExpr) bool {
	name := callee(c)
	return name == "panic" || name == "math.Inf" || name == "numerical" || strings.HasPrefix(name, "fmt.") || strings.HasPrefix(name, "errors.") || strings.HasSuffix(strings.ToLower(name), "errorf") || strings.HasSuffix(name, ".fail")
}

func isIdent(e ast.Expr, name string) bool {
	x, ok := e.(*ast.Ident)
	return ok && x.Name == name
}

func isString(e ast.Expr) bool {
	x, ok := e.(*ast.BasicLit)
	return ok && x.Kind == token.STRING
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
