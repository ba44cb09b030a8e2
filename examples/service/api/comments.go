package api

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync"
)

//go:embed api.go
var source string

// Comments returns what this package says of its types and, under "Type.Field", of
// their fields.
var Comments = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	f, err := parser.ParseFile(token.NewFileSet(), "api.go", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return out // it was compiled
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, spec := range g.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			out[t.Name.Name] = oneLine(g.Doc)
			if s, ok := t.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						out[t.Name.Name+"."+name.Name] = strings.TrimSpace(oneLine(field.Doc) + " " + oneLine(field.Comment))
					}
				}
			}
		}
	}
	return out
})

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
