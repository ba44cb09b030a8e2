package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/tools/repository"
)

func TestCheck(t *testing.T) {
	none := func(string) ([]string, error) { return []string{"TestOne", "BenchmarkTwo"}, nil }
	const text = "| `go test ./a -run 'One\\|Three'` | go test -bench Two/n=4 ./a\n" +
		"`go test -fuzz\n// FuzzFour ./a`, \ngo test -run '^$' ./a\ngo test -run $x ./a\ngo test -run Five\n" +
		"`A=b C_D=/e go test -v\n./a -run Six`, `A=b\n// go test ./a\n// -run Seven`, (A=b go\n// test ./a -run Eight -v)"
	wrong, checked, err := check("f.md", text, none)
	require.NoError(t, err)
	require.Equal(t, 7, checked)
	require.Equal(t, []string{"f.md: -run Three names nothing in ./a", "f.md: -fuzz FuzzFour names nothing in ./a",
		"f.md: -run Six names nothing in ./a", "f.md: -run Seven names nothing in ./a", "f.md: -run Eight names nothing in ./a"}, wrong)
	_, _, err = check("f.md", "go test -run '(' ./a", none)
	require.ErrorContains(t, err, "f.md: go test -run ( ./a")
}

// TestTests: names come from tests inside and outside of a package.
func TestTests(t *testing.T) {
	root, err := repository.Root()
	require.NoError(t, err)
	t.Chdir(root)
	names, err := tests("./linalg ./cmbo/paper")
	require.NoError(t, err)
	require.Contains(t, names, "TestGoldenTrace")
	require.Contains(t, names, "ExampleCholesky")
	for _, name := range names {
		require.Regexp(t, regexp.MustCompile("^(Test|Benchmark|Fuzz|Example)"), name)
	}
}
