// Command surface lists the exported names of the module that nothing needs: names
// used neither in another package nor in an example or an external test of their
// own.
//
//	go -C internal/tools run ./surface [-all] [-accepted FILE [-write]] [package pattern ...]
//
// For each package it prints how many names are exported, methods included and fields
// not, how many of them another package uses, and those that nobody does. With
// -all packages of commands and those that export nothing unused are printed too. A
// method that an interface asks for counts as used with the interface. Packages below
// internal are counted like others, packages behind build tags are not. The modules
// below this one, which the go command takes for others, count as its users.
//
// With -accepted the exit code is 1 unless the names that nobody needs are those in FILE,
// a line each, no more and no fewer; -write makes FILE say what is found. A name belongs
// there if readers look for it although no example shows it, such as the type of a result.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
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
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/gocmbo/cmbo/internal/tools/repository"
)

func main() {
	all := flag.Bool("all", false, "print every package")
	accepted := flag.String("accepted", "", "`file` of the names that nothing needs and that may stay")
	write := flag.Bool("write", false, "write that file")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	err := repository.Enter()
	var idle []string
	if err == nil {
		idle, err = run(os.Stdout, *all, patterns)
	}
	if err == nil && *accepted != "" {
		err = hold(*accepted, idle, *write)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "surface:", err)
		os.Exit(1)
	}
}

// hold compares the names that nothing needs with those of a file, or writes it.
func hold(file string, idle []string, write bool) error {
	sort.Strings(idle)
	if write {
		return os.WriteFile(file, []byte(strings.Join(idle, "\n")+"\n"), 0o644)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	known := strings.Fields(string(b))
	var wrong []string
	for _, n := range idle {
		if !slices.Contains(known, n) {
			wrong = append(wrong, n+" is exported and nothing needs it")
		}
	}
	for _, n := range known {
		if !slices.Contains(idle, n) {
			wrong = append(wrong, n+" is needed or gone, and still listed")
		}
	}
	if wrong != nil {
		return fmt.Errorf("%s:\n\t%s", file, strings.Join(wrong, "\n\t"))
	}
	return nil
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Name, Dir                string
	GoFiles, TestGoFiles, XTestGoFiles   []string
	Imports, TestImports, XTestImports   []string
	files, testFiles, externalTestsFiles []*ast.File

	nested bool // of a module below this one: checked as far as this one's packages go
}

// module type-checks packages from source; an object is the same wherever it is met
// if its position is.
type module struct {
	fset     *token.FileSet
	std      types.Importer
	packages map[string]*listed
	checked  map[string]*types.Package
	exported map[string][]types.Object // by package
	used     map[token.Pos]bool        // in another package
	shown    map[token.Pos]bool        // in an example or an external test of its own
	required map[string]bool           // methods of interfaces
}

func run(w io.Writer, all bool, patterns []string) (idle []string, err error) {
	m := &module{
		fset: token.NewFileSet(), packages: map[string]*listed{}, checked: map[string]*types.Package{},
		exported: map[string][]types.Object{}, used: map[token.Pos]bool{}, shown: map[token.Pos]bool{},
		required: map[string]bool{"Error": true, "String": true, "Unwrap": true, "Is": true, "As": true},
	}
	m.std = importer.ForCompiler(m.fset, "source", nil)
	modules, err := nestedModules()
	if err != nil {
		return nil, err
	}
	for _, dir := range append([]string{"."}, modules...) {
		if err := m.list(dir); err != nil {
			return nil, err
		}
	}
	for path := range m.packages {
		if _, err := m.Import(path); err != nil {
			return nil, err
		}
	}
	for _, p := range m.packages {
		if err := m.checkTests(p); err != nil {
			return nil, err
		}
	}
	wanted, err := paths(patterns)
	if err != nil {
		return nil, err
	}
	for _, path := range wanted {
		idle = append(idle, m.report(w, path, all)...)
	}
	return idle, nil
}

// nestedModules returns the folders of the modules below this one.
func nestedModules() ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" && filepath.Dir(name) != "." {
			dirs = append(dirs, filepath.Dir(name))
		}
		return err
	})
	return dirs, err
}

// list reads the packages of the module in a folder.
func (m *module) list(dir string) error {
	out, err := exec.Command("go", "list", "-C", dir, "-e",
		"-json=ImportPath,Name,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{nested: dir != "."}
		if err := dec.Decode(p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for _, part := range []struct {
			names []string
			to    *[]*ast.File
		}{{p.GoFiles, &p.files}, {p.TestGoFiles, &p.testFiles}, {p.XTestGoFiles, &p.externalTestsFiles}} {
			for _, name := range part.names {
				f, err := parser.ParseFile(m.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				*part.to = append(*part.to, f)
			}
		}
		m.packages[p.ImportPath] = p
	}
}

func paths(patterns []string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// Import implements [types.Importer].
func (m *module) Import(path string) (*types.Package, error) {
	if p, ok := m.checked[path]; ok {
		return p, nil
	}
	p, ok := m.packages[path]
	if !ok {
		if domain, _, _ := strings.Cut(path, "/"); strings.Contains(domain, ".") && !strings.Contains(path, "testify") {
			return nil, fmt.Errorf("%s is of another module", path)
		}
		return m.std.Import(path)
	}
	info := newInfo()
	pkg, err := m.check(p, p.files, info)
	if err != nil {
		return nil, err
	}
	m.checked[path] = pkg
	if !p.nested {
		m.collect(path, pkg)
	}
	m.note(info, func(o types.Object) {
		if o.Pkg().Path() != path {
			m.used[o.Pos()] = true
		}
	})
	return pkg, nil
}

func newInfo() *types.Info {
	return &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
}

func (m *module) check(p *listed, files []*ast.File, info *types.Info) (*types.Package, error) {
	conf := types.Config{Importer: m}
	if p.nested { // what it imports of modules elsewhere is not known
		conf.Error = func(error) {}
	}
	pkg, err := conf.Check(p.ImportPath, m.fset, files, info)
	if p.nested {
		err = nil
	}
	return pkg, err
}

// withTests imports one package as its external tests see it.
type withTests struct {
	*module
	path string
	pkg  *types.Package
}

func (w withTests) Import(path string) (*types.Package, error) {
	if path == w.path {
		return w.pkg, nil
	}
	return w.module.Import(path)
}

// checkTests notes what the tests of p use. A package that imports p and is
// imported by p's external tests sees p without its tests, which may be an error of
// types: such tests are noted as far as they can be checked.
func (m *module) checkTests(p *listed) error {
	files := append(append([]*ast.File(nil), p.files...), p.testFiles...)
	info := newInfo()
	pkg, err := m.check(p, files, info)
	if err != nil {
		return err
	}
	m.note(info, func(o types.Object) {
		if o.Pkg().Path() != p.ImportPath {
			m.used[o.Pos()] = true
		}
	})
	if len(p.externalTestsFiles) == 0 {
		return nil
	}
	info = newInfo()
	conf := types.Config{Importer: withTests{m, p.ImportPath, pkg}, Error: func(error) {}}
	_, _ = conf.Check(p.ImportPath+"_test", m.fset, p.externalTestsFiles, info)
	m.note(info, func(o types.Object) {
		if o.Pkg().Path() == p.ImportPath {
			m.shown[o.Pos()] = true
		} else {
			m.used[o.Pos()] = true
		}
	})
	return nil
}

// note calls see for every object of a package that is used.
func (m *module) note(info *types.Info, see func(types.Object)) {
	for _, o := range info.Uses {
		if o.Pkg() != nil {
			see(origin(o))
		}
	}
	for _, s := range info.Selections {
		if o := s.Obj(); o.Pkg() != nil {
			see(origin(o))
		}
	}
}

// origin returns the declared object that an instantiated one comes from.
func origin(o types.Object) types.Object {
	if f, ok := o.(*types.Func); ok {
		return f.Origin()
	}
	return o
}

// collect lists what a package exports, and the methods its interfaces ask for.
func (m *module) collect(path string, pkg *types.Package) {
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		t, isType := o.(*types.TypeName)
		if isType {
			if i, ok := t.Type().Underlying().(*types.Interface); ok {
				for k := range i.NumMethods() {
					m.required[i.Method(k).Name()] = true
				}
			}
		}
		if !o.Exported() {
			continue
		}
		m.exported[path] = append(m.exported[path], o)
		if !isType || t.IsAlias() {
			continue
		}
		if n, ok := t.Type().(*types.Named); ok {
			for k := range n.NumMethods() {
				if f := n.Method(k); f.Exported() {
					m.exported[path] = append(m.exported[path], f)
				}
			}
		}
	}
}

// report prints the line of a package and the names that nothing needs, which it returns
// with the path of the package and, of methods, the type.
func (m *module) report(w io.Writer, path string, all bool) (unneeded []string) {
	p := m.packages[path]
	names, used := m.exported[path], 0
	var idle []string
	for _, o := range names {
		f, isFunc := o.(*types.Func)
		method := isFunc && f.Signature().Recv() != nil
		switch {
		case m.used[o.Pos()]:
			used++
		case m.shown[o.Pos()], method && m.required[o.Name()]:
		default:
			idle = append(idle, m.fset.Position(o.Pos()).String()[len(p.Dir)+1:]+" "+o.Name())
			name := o.Name()
			if method {
				_, receiver, _ := strings.Cut(strings.TrimPrefix(types.TypeString(f.Signature().Recv().Type(), nil), "*"),
					p.ImportPath+".")
				name = receiver + "." + name
			}
			unneeded = append(unneeded, path+"."+name)
		}
	}
	if !all && (p.Name == "main" || len(idle) == 0) {
		return nil
	}
	fmt.Fprintf(w, "%s: %d exported, %d used elsewhere, %d unused\n", path, len(names), used, len(idle))
	sort.Strings(idle)
	for _, s := range idle {
		fmt.Fprintln(w, "\t"+s)
	}
	return unneeded
}
