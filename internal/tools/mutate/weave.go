package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// environment names the variable that tells a woven program which mutant it is, by
// its number; without it the program is the original.
const environment = "CMBO_MUTANT"

// A span is the lines, first and last, that a mutant takes in a woven file.
type span struct{ mutant, first, last int }

// weave returns a file whose functions exist once as they are and once for each of
// the mutants, of the numbers given, in place of which a function of the old name
// calls the one that mutantNumber asks for. So one build serves all mutants.
func weave(src []byte, ms []mutant, numbers []int) ([]byte, []span, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var out bytes.Buffer
	var spans []span
	last := 0
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		start, name, end := offset(f.Pos()), offset(f.Name.Pos()), offset(f.End())
		afterName := offset(f.Name.End())
		own := []int{0}
		for i, m := range ms {
			if m.start >= start && m.end <= end {
				own = append(own, numbers[i])
			}
		}
		if len(own) == 1 {
			continue
		}
		out.Write(src[last:start])
		dispatch(&out, f, own, func(n ast.Node) string { return string(src[offset(n.Pos()):offset(n.End())]) })
		for _, n := range own {
			first := 1 + bytes.Count(out.Bytes(), []byte("\n"))
			fmt.Fprintf(&out, "%s%s%s", src[start:name], copyName(n, f), src[afterName:offset(f.Body.Pos())])
			if n == 0 {
				out.Write(src[offset(f.Body.Pos()):end])
			} else {
				m := ms[slices.Index(numbers, n)]
				fmt.Fprintf(&out, "%s%s%s", src[offset(f.Body.Pos()):m.start], m.replacement, src[m.end:end])
				spans = append(spans, span{n, first, 1 + bytes.Count(out.Bytes(), []byte("\n"))})
			}
			out.WriteString("\n\n")
		}
		last = end
	}
	out.Write(src[last:])
	return out.Bytes(), spans, nil
}

func copyName(n int, f *ast.FuncDecl) string { return fmt.Sprintf("mutant%d%s", n, f.Name.Name) }

// dispatch writes the function that calls the copies of f.
func dispatch(out *bytes.Buffer, f *ast.FuncDecl, own []int, text func(ast.Node) string) {
	var params, args, results []string
	for _, field := range f.Type.Params.List {
		for range max(1, len(field.Names)) {
			arg := fmt.Sprintf("p%d", len(params))
			params = append(params, arg+" "+text(field.Type))
			if _, ok := field.Type.(*ast.Ellipsis); ok {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	if f.Type.Results != nil {
		for _, field := range f.Type.Results.List {
			for range max(1, len(field.Names)) {
				results = append(results, text(field.Type))
			}
		}
	}
	receiver, prefix, typeParams, instance := "", "", "", ""
	if f.Recv != nil {
		receiver, prefix = "(receiver "+text(f.Recv.List[0].Type)+") ", "receiver."
	}
	if f.Type.TypeParams != nil {
		var names []string
		for _, field := range f.Type.TypeParams.List {
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
		}
		typeParams, instance = text(f.Type.TypeParams), "["+strings.Join(names, ", ")+"]"
	}
	fmt.Fprintf(out, "func %s%s%s(%s) (%s) {\n\tswitch mutantNumber {\n",
		receiver, f.Name.Name, typeParams, strings.Join(params, ", "), strings.Join(results, ", "))
	for _, n := range own {
		call := prefix + copyName(n, f) + instance + "(" + strings.Join(args, ", ") + ")"
		if len(results) > 0 {
			call = "return " + call
		}
		if n == 0 {
			fmt.Fprintf(out, "\tdefault:\n\t\t%s\n", call)
		} else {
			fmt.Fprintf(out, "\tcase %d:\n\t\t%s\n", n, call)
		}
	}
	out.WriteString("\t}\n}\n\n")
}

// woven is a group's files with its mutants, by path from the root.
func woven(ms []mutant) (files map[string][]byte, spans map[string][]span, err error) {
	files, spans = make(map[string][]byte), make(map[string][]span)
	numbered := make(map[string][]int)
	for i, m := range ms {
		numbered[m.file] = append(numbered[m.file], i+1)
	}
	for file, numbers := range numbered {
		own := make([]mutant, len(numbers))
		for i, n := range numbers {
			own[i] = ms[n-1]
		}
		if files[file], spans[file], err = weave(own[0].original, own, numbers); err != nil {
			return nil, nil, err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), "", own[0].original, parser.PackageClauseOnly)
		if err != nil {
			return nil, nil, err
		}
		files[filepath.Join(filepath.Dir(file), "mutant_number.go")] = fmt.Appendf(nil, `package %s

import (
	"os"
	"strconv"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv(%q))
`, tree.Name.Name, environment)
	}
	return files, spans, nil
}

// flat is the name of a woven file outside the tree.
func flat(file string) string { return strings.ReplaceAll(file, "/", "_") }

// blamed returns the numbers of the mutants in whose lines the compiler found
// errors, in order.
func blamed(output []byte, spans map[string][]span) []int {
	var out []int
	for line := range strings.Lines(string(output)) {
		parts := strings.SplitN(filepath.ToSlash(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		var at int
		if _, err := fmt.Sscan(parts[1], &at); err != nil {
			continue
		}
		for file, own := range spans {
			// The compiler names the file or what stands in for it.
			if name := filepath.Base(parts[0]); name != flat(file) && name != filepath.Base(file) {
				continue
			}
			for _, s := range own {
				if at >= s.first && at <= s.last {
					out = append(out, s.mutant)
				}
			}
		}
	}
	slices.SortFunc(out, cmp.Compare[int])
	return slices.Compact(out)
}
