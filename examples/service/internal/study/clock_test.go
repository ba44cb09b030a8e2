package study_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// What is stored and proposed cannot depend on a clock, wherever that jumps:
// nothing that stores or proposes knows one.
func TestNoClock(t *testing.T) {
	for _, dir := range []string{".", filepath.Join("..", "disk"), filepath.Join("..", "..", "api")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files (%v)", dir, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range f.Imports {
				if i.Path.Value == `"time"` {
					t.Errorf("%s imports time", name)
				}
			}
		}
	}
}
