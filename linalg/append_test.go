package linalg

import (
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestAppend grows a factor from nothing and compares with Factorize.
func TestAppend(t *testing.T) {
	n := 61
	a := NewSym(n, testutil.SPD(testutil.RNG(t), n, 1e4))
	var c Cholesky
	for i := range n {
		if err := c.Append(a.Row(i)[:i], a.At(i, i)); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if i == 20 {
			// A bad row leaves everything as it was.
			before := c.Clone()
			var npd *NotPositiveDefiniteError
			bad := append([]float64(nil), a.Row(i + 1)[:i+1]...)
			if err := c.Append(bad, 0); !errors.As(err, &npd) || npd.Pivot != i+1 {
				t.Fatalf("zero diagonal: %v", err)
			}
			bad[3] = math.NaN()
			if err := c.Append(bad, 1); !errors.As(err, &npd) {
				t.Fatalf("NaN: %v", err)
			}
			if err := c.Append(a.Row(i + 1)[:i+1], math.Inf(1)); !errors.As(err, &npd) {
				t.Fatalf("infinite: %v", err)
			}
			if c.Dim() != i+1 {
				t.Fatalf("dimension %d after failures", c.Dim())
			}
			for k := range i + 1 {
				if normDiff(c.Lower().Row(k), before.Lower().Row(k)) != 0 {
					t.Fatalf("row %d changed", k)
				}
			}
		}
	}
	checkFactor(t, c.Lower(), a)
	want := mustFactorize(t, a)
	// Both factors are backward stable: they differ by about n·u·cond.
	within(t, "Append against Factorize", normDiff(denseData(c.Lower()), denseData(want.Lower())), 1e4*float64(n)*eps)

	// After Factorize, and with all operations that read a factor with gaps.
	sub := new(Sym)
	idx := make([]int, n-3)
	for i := range idx {
		idx[i] = i
	}
	sub.Subset(a, idx)
	if err := c.Factorize(sub); err != nil {
		t.Fatal(err)
	}
	for i := n - 3; i < n; i++ {
		if err := c.Append(a.Row(i)[:i], a.At(i, i)); err != nil {
			t.Fatal(err)
		}
	}
	checkFactor(t, c.Lower(), a)
	if c.Lower().stride == n {
		t.Error("no gap between rows: the test is too easy")
	}
	checkSolves(t, &c, a)
	checkFactor(t, c.Clone().Lower(), a)

	// Memory is reused and grows geometrically.
	grown := 0
	var g Cholesky
	for i := range n {
		before := cap(g.l.data)
		if err := g.Append(a.Row(i)[:i], a.At(i, i)); err != nil {
			t.Fatal(err)
		}
		if cap(g.l.data) != before {
			grown++
		}
	}
	if grown > 11 { // log(61)/log(1.5) + 1
		t.Errorf("%d appends allocated %d times", n, grown)
	}
}

func denseData(m *Dense) []float64 {
	var d []float64
	for i := range m.rows {
		d = append(d, m.row(i)...)
	}
	return d
}

// TestAppendOnUsedMemory: a factor that grows on memory full of an earlier, larger
// one is that of fresh memory, zeros above the diagonal included.
func TestAppendOnUsedMemory(t *testing.T) {
	const n, start = 40, 7
	rng := testutil.RNG(t)
	a := NewSym(n, testutil.SPD(rng, n, 1e3))
	var used, fresh Cholesky
	if err := used.Factorize(NewSym(3*n, testutil.SPD(rng, 3*n, 1e3))); err != nil {
		t.Fatal(err)
	}
	memory := &used.l.data[0]
	idx := make([]int, start)
	for i := range idx {
		idx[i] = i
	}
	var head Sym
	head.Subset(a, idx)
	for _, c := range []*Cholesky{&used, &fresh} {
		if err := c.Factorize(&head); err != nil {
			t.Fatal(err)
		}
	}
	for k := start; k < n; k++ {
		for _, c := range []*Cholesky{&used, &fresh} {
			if err := c.Append(a.Row(k)[:k], a.At(k, k)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := denseData(used.Lower()), denseData(fresh.Lower()); normDiff(got, want) != 0 {
			t.Fatalf("%d rows: differs from a factor on fresh memory", k+1)
		}
	}
	if &used.l.data[0] != memory {
		t.Error("memory that suffices was not used")
	}
}
