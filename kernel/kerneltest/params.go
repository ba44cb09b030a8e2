package kerneltest

import (
	"fmt"
	"math"
	"slices"
)

func (c *checker) params() error {
	theta := c.k.AppendParams(nil)
	if n := c.k.NumParams(); n != len(theta) {
		return fmt.Errorf("NumParams is %d, AppendParams appends %d", n, len(theta))
	}
	ahead := c.k.AppendParams([]float64{math.Pi})
	if len(ahead) != len(theta)+1 || ahead[0] != math.Pi || !slices.Equal(ahead[1:], theta) {
		return fmt.Errorf("AppendParams gives %v after π, %v after nothing", ahead, theta)
	}
	x, y := c.x.Row(0), c.x.Row(1)
	before := c.k.Eval(x, y)

	// Other parameters, all different, must come back as they went in.
	other := slices.Clone(theta)
	for i := range other {
		other[i] += 0.125 + 0.0625*float64(i)
	}
	moved, err := c.k.WithParams(other)
	if err != nil {
		return fmt.Errorf("WithParams(%v): %w", other, err)
	}
	kept := slices.Clone(other)
	value := moved.Eval(x, y)
	clear(other) // WithParams must not have kept it
	near := func(g, w float64) bool { return math.Abs(g-w) <= 8*eps*math.Max(1, math.Abs(w)) }
	if got := moved.AppendParams(nil); !slices.EqualFunc(got, kept, near) {
		return fmt.Errorf("WithParams(%v) has parameters %v", kept, got)
	}
	if got := moved.Eval(x, y); got != value {
		return fmt.Errorf("WithParams keeps the slice it is given")
	}

	// And back.
	back, err := moved.WithParams(slices.Clone(theta))
	if err != nil {
		return fmt.Errorf("WithParams(%v): %w", theta, err)
	}
	// Relative errors of 4·eps·|θ| in the hyperparameters, to which a kernel's
	// logarithm has derivatives that stay moderate where its values count.
	largest := 1.0
	for _, t := range theta {
		largest = math.Max(largest, math.Abs(t))
	}
	if got := back.Eval(x, y); !(math.Abs(got-before) <= 256*eps*largest*c.scale(x, y)) {
		return fmt.Errorf("k(x_0, x_1) = %v after a round trip of the parameters, %v before", got, before)
	}
	if got := c.k.Eval(x, y); got != before || !slices.Equal(c.k.AppendParams(nil), theta) {
		return fmt.Errorf("WithParams modified its receiver")
	}

	for _, n := range []int{len(theta) - 1, len(theta) + 1} {
		if n < 0 {
			continue
		}
		if err := c.refuses(make([]float64, n)); err != nil {
			return fmt.Errorf("%w (NumParams is %d)", err, len(theta))
		}
	}
	for i := range theta {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			t := slices.Clone(theta)
			t[i] = bad
			if err := c.refuses(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuses returns an error unless WithParams does.
func (c *checker) refuses(theta []float64) (failure error) {
	defer func() {
		if r := recover(); r != nil {
			failure = fmt.Errorf("WithParams(%v) panics: %v", theta, r)
		}
	}()
	if _, err := c.k.WithParams(theta); err == nil {
		return fmt.Errorf("WithParams(%v) returns no error", theta)
	}
	return nil
}
