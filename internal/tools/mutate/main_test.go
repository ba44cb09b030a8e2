package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/tools/repository"
)

const source = `package p

func (t *T) f(a []float64, err error) (float64, error) {
	if err != nil {
		return 0, fmt.Errorf("%d of %d", len(a)-1, 3)
	}
	if a[2] == 4 {
		return -1, err
	}
	s := [1]float64{1.5}[0]
	for i := 0; i < len(a); i++ {
		s += a[i] * -a[i]
	}
	t.n++
	t.set(s)
	_ = t.flag || math.IsInf(s, 1) || math.IsInf(s, -1)
	if ok := t.ok; !ok && t.closed {
		t.s = "a" + "b"
	}
	if t.flag {
		s = math.Sqrt(s)
	}
	return max(s, 2), nil
}

func (t T) String() string { return t.a + t.b }
`

func TestSites(t *testing.T) {
	ms, err := sites("p.go", []byte(source))
	require.NoError(t, err)
	var got []string
	ids := make(map[string]bool)
	for _, m := range ms {
		got = append(got, m.change())
		require.False(t, ids[m.id], m.id)
		ids[m.id] = true
	}
	require.Equal(t, []string{
		"== -> !=", "2 -> (2+1)", "4 -> (4+1)", "1.5 -> (2*1.5+1)", "0 -> (0+1)", "0 -> (0+1)", "< -> <=", "< -> >=", "+= -> -=", "* -> /", "- -> +", "++ -> --",
		"t.set(s) -> _ = 0", "|| -> &&", "|| -> &&", "- -> +", "&& -> ||", "! -> ", "t.s -> _", " -> !", "s -> _", "math.Sqrt -> ", "max -> min", "2 -> (2+1)",
	}, got)
	require.True(t, ids["p.go T.f <to>= 1"])
}

// TestWeave: a woven file compiles, and behaves as the mutant of the number that it
// is given.
func TestWeave(t *testing.T) {
	const source = `package main

import "fmt"

type box[T any] struct{ v []T }

func (b *box[T]) add(_ int, vs ...T) { b.v = append(b.v, vs...) }

func largest[T int | float64](a, b T) (m T, ok bool) {
	if a < b {
		return b, true
	}
	return a, false
}

func main() {
	b := new(box[int])
	a := [2]int{7, 2}
	b.add(0, a[0], a[1])
	m, ok := largest(b.v[0], b.v[1])
	fmt.Print(m, ok)
}
`
	dir, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\ngo 1.24\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	ms, err := group{"g", []string{"main.go"}, nil}.mutants(dir)
	require.NoError(t, err)
	drawn, err := drawValid(t.Context(), dir, outside, ms, len(ms))
	require.NoError(t, err)
	require.Less(t, len(drawn), len(ms), "a[2] of two does not compile")
	out, err := goTool(t.Context(), dir, "build", "-overlay", filepath.Join(outside, "overlay.json"), "-o", "woven", ".")
	require.NoError(t, err, "%s", out)
	got := make(map[string]string)
	for n := range len(drawn) + 1 {
		cmd := exec.Command(filepath.Join(dir, "woven"))
		cmd.Env = append(os.Environ(), fmt.Sprint(environment, "=", n))
		out, _ := cmd.Output()
		change := "none"
		if n > 0 {
			change = drawn[n-1].id
		}
		got[change] = string(out)
	}
	require.Equal(t, "7 false", got["none"])
	require.Equal(t, "7 true", got["g main.go largest falsetotrue 1"])
	require.Equal(t, "2 true", got["g main.go largest <to>= 1"])
	require.Equal(t, "8 false", got["g main.go main plus1 1"])
	require.NotContains(t, got, "g main.go main plus1 5")
	require.Equal(t, "", got["g main.go main uncalled 1"], "without b.add there is no b.v[0]")
}

// TestGroupsHaveFiles: each group has mutants, and each reason is one of a mutant that there is.
func TestGroupsHaveFiles(t *testing.T) {
	root, err := repository.Root()
	require.NoError(t, err)
	ids := make(map[string]bool)
	for _, g := range groups {
		ms, err := g.mutants(root)
		require.NoError(t, err)
		require.NotEmpty(t, ms, g.name)
		for _, m := range ms {
			ids[m.id] = true
		}
	}
	for line := range strings.Lines(reasons) {
		id, _, _ := strings.Cut(line, " | ")
		require.True(t, ids[id], "%q is no mutant", id)
	}
}
