// Package documents holds the documents to the code: what README files show as Go
// compiles as a reader pastes it.
package documents

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// given declares what a fragment of a document, a block without a package clause or
// a cell of the table of situations, may use without having declared it.
const given = `package documents

import (
	"context"
	"io"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/cmbo/journalfile"
	"github.com/gocmbo/cmbo/cmbo/paper"
%s)

var (
	ctx      context.Context
	space    *cmbo.Space
	tasks    []cmbo.Task
	prior    *cmbo.Prior
	learner  *cmbo.Learner
	grouped  *paper.Prior
	opt      *cmbo.Optimizer
	trial    cmbo.Trial
	row      []float64
	rows     [][]float64
	changes  cmbo.Changes
	y        float64
	n        int
	path     string
	cfg      struct{}
	model    cmbo.Surrogate
	f        acq.Func
	r        io.Reader
	w        io.Writer

	_ history.CSV
	_ = journalfile.Open
)

func use(...any) {}

func _() {
%s
}
`

// own declares what fragments in a module below this one may use besides.
var own = map[string]string{"examples/service": `	"github.com/gocmbo/cmbo/examples/service/client"
`}

// A block is Go code of a document.
type block struct {
	where, text string
	module      string // its folder
}

// file is the block as a file.
func (b block) file() string {
	if b.complete() {
		return b.text
	}
	return fmt.Sprintf(given, own[b.module], b.text)
}

// moduleOf returns the folder of the module that a document is in.
func moduleOf(t *testing.T, name string) string {
	t.Helper()
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

func (b block) complete() bool { return strings.HasPrefix(b.text, "package ") }

var fenced = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// blocks returns the Go code of all documents, README.md of the module first.
func blocks(t *testing.T) []block {
	t.Helper()
	var found []block
	for _, name := range documents(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		for _, m := range fenced.FindAllSubmatchIndex(text, -1) {
			line := strings.Count(string(text[:m[2]]), "\n") + 1
			found = append(found, block{fmt.Sprintf("%s:%d", name, line), string(text[m[2]:m[3]]), moduleOf(t, name)})
		}
	}
	return found
}

// documents returns the names of the module's documents in Markdown.
func documents(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", ".github/CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md") && name != "README.md":
			names = append(names, name)
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

// goTool runs the go command in the root of the module.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %s: %s", strings.Join(args, " "), &stderr)
	return string(out)
}

// checker type-checks code with the packages that the go command has compiled in a
// module.
type checker struct {
	t        *testing.T
	fset     *token.FileSet
	exported map[string]string // file of export data by import path
	importer types.Importer
}

func newChecker(t *testing.T, module string, imports map[string]bool) *checker {
	t.Helper()
	c := &checker{t: t, fset: token.NewFileSet(), exported: map[string]string{}}
	args := []string{"list", "-C", module, "-e", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for path := range imports {
		args = append(args, path)
	}
	for line := range strings.Lines(goTool(t, args...)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && file != "" {
			c.exported[path] = file
		}
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		file, ok := c.exported[path]
		if !ok {
			return nil, fmt.Errorf("no package %q", path)
		}
		return os.Open(file)
	})
	return c
}

// check reports the first error of a file. Of a fragment it forgives names that are
// declared and not used.
func (c *checker) check(where, text string, fragment bool) {
	c.t.Helper()
	f, err := parser.ParseFile(c.fset, where, text, parser.SkipObjectResolution)
	if err != nil {
		c.t.Errorf("%s: %v", where, err)
		return
	}
	var first error
	conf := types.Config{Importer: c.importer, Error: func(err error) {
		var e types.Error
		if first == nil && !(fragment && errors.As(err, &e) && e.Soft) {
			first = err
		}
	}}
	_, _ = conf.Check("documents", c.fset, []*ast.File{f}, nil)
	if first != nil {
		c.t.Errorf("%s does not compile as pasted: %v\n%s", where, first, text)
	}
}

func skipWithoutGo(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("needs the go command, which " + runtime.GOOS + " cannot run")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command: ", err)
	}
}

func TestCodeCompilesAsPasted(t *testing.T) {
	skipWithoutGo(t)
	all := blocks(t)
	cells := situations(t)
	require.Greater(t, len(cells), 10, "README.md has lost its table of situations")
	imports := map[string]map[string]bool{} // by module
	for _, b := range append(all, block{"given", "", "."}) {
		f, err := parser.ParseFile(token.NewFileSet(), b.where, b.file(), parser.ImportsOnly)
		require.NoError(t, err, b.where)
		if imports[b.module] == nil {
			imports[b.module] = map[string]bool{}
		}
		for _, s := range f.Imports {
			path, err := strconv.Unquote(s.Path.Value)
			require.NoError(t, err)
			imports[b.module][path] = true
		}
	}
	checkers := map[string]*checker{}
	for module, paths := range imports {
		checkers[module] = newChecker(t, module, paths)
	}
	for _, b := range all {
		checkers[b.module].check(b.where, b.file(), !b.complete())
	}
	for _, b := range cells {
		if _, err := parser.ParseExpr(b.text); err == nil {
			b.text = "use(" + b.text + ")"
		}
		checkers["."].check(b.where, b.file(), true)
	}
}

var span = regexp.MustCompile("`([^`]+)`")

// situations returns what README.md's table of situations has the reader write.
func situations(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "| your situation | what to write |\n|---|---|\n")
	require.True(t, ok, "README.md has no table of situations")
	table, _, _ = strings.Cut(table, "\n\n")
	var found []block
	for line := range strings.Lines(table) {
		_, write, _ := strings.Cut(strings.Trim(line, "| \n"), " | ")
		for _, m := range span.FindAllStringSubmatch(write, -1) {
			if !strings.HasPrefix(m[1], "//") { // a directive
				found = append(found, block{"README.md, " + line, m[1], "."})
			}
		}
	}
	return found
}

// TestFirstProgram: the first code of README.md is a program, shows the default
// configuration and does what it says.
func TestFirstProgram(t *testing.T) {
	skipWithoutGo(t)
	first := blocks(t)[0]
	require.True(t, strings.HasPrefix(first.where, "README.md:"), first.where)
	require.True(t, strings.HasPrefix(first.text, "package main\n"), first.text)
	for _, option := range regexp.MustCompile(`cmbo\.With\w+`).FindAllString(first.text, -1) {
		require.Equal(t, "cmbo.WithPrior", option, "the first program shows an option beside the prior")
	}
	if testing.Short() {
		t.Skip("-short: it is not built and run")
	}
	name := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(name, []byte(first.text), 0o600))
	require.Regexp(t, `^0\.[89]\d* map\[depth:\d+ kernel:\w+ lr:[0-9.e-]+\]\n$`, goTool(t, "run", name))
}

// TestMapIsTrue: cmbo/ARCHITECTURE.md names each package below cmbo, in an order in which none
// imports one of a row above it, paths that exist and tests that there are.
func TestMapIsTrue(t *testing.T) {
	skipWithoutGo(t)
	text, err := os.ReadFile(filepath.Join(root, "cmbo/ARCHITECTURE.md"))
	require.NoError(t, err)
	require.Less(t, strings.Count(string(text), "\n"), 110, "it is longer than two pages")
	tests := map[string]bool{}
	found := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	named := map[string]bool{}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		for _, m := range found.FindAllSubmatch(b, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	require.NoError(t, err)
	for _, m := range span.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		named[name] = true
		switch {
		case strings.HasPrefix(name, "Test"):
			require.True(t, tests[name], "there is no %s", name)
		case strings.HasSuffix(name, ".go") && !strings.Contains(name, "/"):
			name = "cmbo/internal/hierarchy/" + name
			fallthrough
		case strings.Contains(name, "/") && !strings.Contains(name, " "):
			_, err := os.Stat(filepath.Join(root, name))
			require.NoError(t, err)
		}
	}
	row := map[string]int{}
	for i, m := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		for _, name := range span.FindAllStringSubmatch(m[1], -1) {
			row[name[1]] = i + 1
		}
	}
	of := func(pkg string) int { // that of the nearest folder above it
		for ; pkg != "."; pkg = path.Dir(pkg) {
			if row[pkg] > 0 {
				return row[pkg]
			}
		}
		return 0
	}
	const module = "github.com/gocmbo/cmbo/"
	for line := range strings.Lines(goTool(t, "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./cmbo/...", "./gaussian/...", "./kernel/...", "./linalg/...")) {
		packages := strings.Fields(line)
		pkg := strings.TrimPrefix(packages[0], module)
		require.True(t, named[pkg] || !strings.HasPrefix(pkg, "cmbo/"), "the map lacks package %s", pkg)
		for _, imported := range packages[1:] {
			if imported, ours := strings.CutPrefix(imported, module); ours {
				require.LessOrEqual(t, of(pkg), of(imported), "%s imports %s", pkg, imported)
			}
		}
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	silent  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	bar     = regexp.MustCompile(`(^|[^\\])\|`)
)

// TestLinksAndTables: links within the repository lead to files and headings that there are, and rows of a table have as many
// cells as its head: a bar in a command ends a cell unless it is escaped.
func TestLinksAndTables(t *testing.T) {
	texts, anchors := map[string]string{}, map[string]bool{}
	for _, name := range documents(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		texts[name] = fence.ReplaceAllString(string(text), "")
		for _, m := range heading.FindAllStringSubmatch(texts[name], -1) {
			anchors[name+"#"+strings.ReplaceAll(silent.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
		}
	}
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") {
				continue
			}
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil || anchor != "" && !anchors[to+"#"+anchor] {
				t.Errorf("%s: %s leads nowhere", name, m[1])
			}
		}
		cells := 0
		for line := range strings.Lines(text) {
			n := len(bar.FindAllString(line, -1))
			if !strings.HasPrefix(line, "|") {
				n = 0
			} else if cells > 0 && n != cells {
				t.Errorf("%s: %d bars and %d in the head of the table: %s", name, n, cells, line)
			}
			if cells == 0 || n == 0 {
				cells = n
			}
		}
	}
}
