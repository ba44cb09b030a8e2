package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRun lists a small module: a name that another package uses, one that an example
// shows, one that only an in-package test touches, a method that an interface asks for
// and one that nobody does; and one that a module below uses, which imports what is not there.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":       "module m\n\ngo 1.24\n",
		"a/a.go":       "package a\n\ntype T struct{}\n\nfunc (T) Error() string { return \"\" }\nfunc (T) Idle() {}\nfunc Used() T { return T{} }\nfunc Shown() {}\nfunc Tested() {}\nfunc Below() {}\nfunc hidden() {}\n",
		"a/a_test.go":  "package a\n\nfunc touch() { Tested(); hidden() }\n",
		"a/ex_test.go": "package a_test\n\nimport \"m/a\"\n\nfunc ExampleShown() { a.Shown() }\n",
		"b/b.go":       "package b\n\nimport \"m/a\"\n\nvar _ a.T = a.Used()\n",
		"n/go.mod":     "module m/n\n\ngo 1.24\n\nrequire m v0.0.0\n\nreplace m => ..\n",
		"n/n.go":       "package n\n\nimport (\n\t\"m/a\"\n\t\"example.com/x\"\n)\n\nfunc f() { x.F(a.Below) }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	idle, err := run(&b, false, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	want := "m/a: 7 exported, 3 used elsewhere, 2 unused\n\ta.go:6:10 Idle\n\ta.go:9:6 Tested\n"
	if b.String() != want {
		t.Errorf("got\n%s, want\n%s", b.String(), want)
	}
	if want := []string{"m/a.T.Idle", "m/a.Tested"}; !slices.Equal(idle, want) {
		t.Errorf("got %q, want %q", idle, want)
	}
	if err := hold("accepted", idle, true); err != nil {
		t.Fatal(err)
	}
	if err := hold("accepted", idle, false); err != nil {
		t.Error(err)
	}
	for _, names := range [][]string{idle[1:], append(slices.Clone(idle), "m/a.More")} {
		if err := hold("accepted", names, false); err == nil {
			t.Errorf("%q passes for %q", names, idle)
		}
	}
}
