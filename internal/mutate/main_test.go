package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = `package p

func (t *T) f(a []float64, err error) (float64, error) {
	if err != nil {
		return 0, fmt.Errorf("%d of %d", len(a)-1, 3)
	}
	s := 1.5
	for i := 0; i < len(a); i++ {
		s += a[i] * -a[i]
	}
	t.n++
	t.set(s)
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
		_, err := parser.ParseFile(token.NewFileSet(), "", m.source(), 0)
		require.NoError(t, err, m.change())
	}
	require.Equal(t, []string{
		"0 -> (0+1)", "1.5 -> (2*1.5+1)", "0 -> (0+1)", "< -> <=", "< -> >=", "+= -> -=", "* -> /", "- -> +", "++ -> --",
		"t.set(s) -> _ = 0", "&& -> ||", "! -> ", "t.s -> _", " -> !", "s -> _", "math.Sqrt -> ", "max -> min", "2 -> (2+1)",
	}, got)
	require.True(t, ids["p.go T.f <to>= 1"])
}

func TestGroupsHaveFiles(t *testing.T) {
	root, err := moduleRoot(t.Context())
	require.NoError(t, err)
	for _, g := range groups {
		ms, err := g.mutants(root)
		require.NoError(t, err)
		require.NotEmpty(t, ms, g.name)
	}
}
