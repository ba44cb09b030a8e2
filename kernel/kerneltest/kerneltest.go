package kerneltest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// eps is the spacing of float64 at 1.
const eps = 0x1p-52

// TestKernel runs all checks of k on the rows of points, reporting failures through t.Errorf, at most one for each check:
//
//   - params: NumParams, AppendParams and WithParams fit together, wrong counts
//     and non-finite values are refused, the original is left as it was;
//   - symmetry: k(x, y) = k(y, x), and arguments are not modified;
//   - semidefinite: k(x, y)² ≤ k(x, x)·k(y, y), and the Gram matrix of the points
//     with one repeated is positive semi-definite up to rounding;
//   - param gradient, if k has one, agrees with differences of Eval.
//
// A few to a few tens of points where the kernel varies suit it best: one check is cubic in
// their number. It panics if there are fewer than 2.
func TestKernel(t testing.TB, k kernel.Kernel, points *linalg.Dense) {
	t.Helper()
	n, dim := points.Dims()
	if n < 2 {
		panic(fmt.Sprintf("kerneltest: TestKernel: %d points, want at least 2", n))
	}
	c := checker{k: k, name: fmt.Sprintf("%T", k)}
	if s, ok := k.(fmt.Stringer); ok {
		c.name = s.String()
	}
	// One point more, equal to the first: distance 0 between two rows.
	c.x = linalg.NewDense(n+1, dim, nil)
	for i := range n + 1 {
		copy(c.x.Row(i), points.Row(i%n))
		c.largest = math.Max(c.largest, k.Eval(c.x.Row(i), c.x.Row(i)))
	}
	for _, check := range []struct {
		name string
		run  func() error
	}{
		{"params", c.params},
		{"symmetry", c.symmetry},
		{"semidefinite", c.semidefinite},
		{"param gradient", c.paramGradient},
	} {
		if err := check.run(); err != nil {
			t.Errorf("%s: %s: %v", c.name, check.name, err)
		}
	}
}

type checker struct {
	k    kernel.Kernel
	name string
	x    *linalg.Dense

	largest float64 // of the variances k(x, x)
}

// scale returns the size against which errors of k(x, y) are measured. Derivatives are measured against the largest variance
// instead: they need not vanish where k(x, x) does.
func (c *checker) scale(x, y []float64) float64 {
	return math.Sqrt(c.k.Eval(x, x) * c.k.Eval(y, y))
}

// pairs calls f for all pairs of points with j ≤ i, until it fails.
func (c *checker) pairs(f func(i, j int, x, y []float64) error) error {
	n, _ := c.x.Dims()
	for i := range n {
		for j := range i + 1 {
			if err := f(i, j, c.x.Row(i), c.x.Row(j)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) symmetry() error {
	return c.pairs(func(i, j int, x, y []float64) error {
		x0, y0 := slices.Clone(x), slices.Clone(y)
		a, b := c.k.Eval(x, y), c.k.Eval(y, x)
		if tol := 8 * eps * c.scale(x, y); !(math.Abs(a-b) <= tol) {
			return fmt.Errorf("k(x_%d, x_%d) = %v, k(x_%d, x_%d) = %v", i, j, a, j, i, b)
		}
		if !slices.Equal(x, x0) || !slices.Equal(y, y0) {
			return fmt.Errorf("a point was modified by Eval")
		}
		return nil
	})
}

func (c *checker) semidefinite() error {
	err := c.pairs(func(i, j int, x, y []float64) error {
		kxx, kxy := c.k.Eval(x, x), c.k.Eval(x, y)
		if !(kxx >= 0) || math.IsInf(kxx, 0) {
			return fmt.Errorf("k(x_%d, x_%d) = %v", i, i, kxx)
		}
		if s := c.scale(x, y); !(math.Abs(kxy) <= s*(1+16*eps)) {
			return fmt.Errorf("k(x_%d, x_%d) = %v, the variances allow %v", i, j, kxy, s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	n, _ := c.x.Dims()
	g := linalg.NewSym(n, nil)
	for i := range n {
		row := g.Row(i)
		for j := range i + 1 {
			row[j] = c.k.Eval(c.x.Row(i), c.x.Row(j))
		}
	}
	g.Mirror()
	// Entries with relative errors of 32·eps move eigenvalues by at most n·32·eps·max k(x, x), and a Cholesky factorisation
	// succeeds if what is left exceeds about n²·eps·max k(x, x) (Higham 2002, Theorem 10.7).
	shift := float64(n) * float64(n+32) * eps * c.largest
	g.AddDiag(shift)
	var f linalg.Cholesky
	if err := f.Factorize(g); err != nil {
		return fmt.Errorf("matrix of Eval plus %.2g on the diagonal: %w", shift, err)
	}
	return nil
}
