// Package regret evaluates the paper's Theorem 1, which package theorem states.
package regret

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/paper/internal/model"
	"github.com/gocmbo/cmbo/cmbo/paper/theorem"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/linalg"
)

func optionErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{space.ErrOption}, args...)...)
}

// validate fails with [space.ErrOption].
func validate(in *theorem.Inputs, tasks int) error {
	switch {
	case !(in.Norm >= 0) || math.IsInf(in.Norm, 0):
		return optionErrorf("norm %g is not a finite number >= 0", in.Norm)
	case !(in.Delta > 0 && in.Delta < 1):
		return optionErrorf("delta %g is not in (0, 1)", in.Delta)
	case in.Gaps != nil && len(in.Gaps) != tasks:
		return optionErrorf("%d gaps for %d tasks", len(in.Gaps), tasks)
	case (in.Truth == nil) != (in.Optimum == nil):
		return optionErrorf("Truth and Optimum go together")
	}
	for i, g := range in.Gaps {
		if !(g >= 0) || math.IsInf(g, 0) {
			return optionErrorf("gap %g of task %d is not a finite number >= 0", g, i)
		}
	}
	return nil
}

// Bound evaluates the theorem for a proposal of the adaptive prior run, which is
// conditioned on what was known then, at the point chosen of the unit cube; xi is the
// multiplier of UCB. Points of the caller's go through s. Trial is left to the caller,
// which is package cmbo.
//
// It fails with [space.ErrOption] if an input is outside its range, with the errors of
// [space.Space.Encode] for an unusable Optimum, and with ErrNumerical of package cmbo.
func Bound(run *model.Weighted, s *space.Space, chosen []float64, xi float64, in theorem.Inputs) (*theorem.Bound, error) {
	if err := validate(&in, len(run.Learned.Sources)); err != nil {
		return nil, err
	}
	t := &evaluation{a: run, p: run.Learned, w: run.Weights(), noise: run.NoiseVariance(), in: in, xi: xi, chosen: chosen}
	if in.Truth != nil {
		var err error
		if t.optimum, err = s.Encode(in.Optimum); err != nil {
			return nil, err
		}
		t.truth = func(u []float64) (float64, error) {
			row, err := s.Decode(u)
			if err != nil {
				return 0, err
			}
			v := in.Truth(row)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				err = optionErrorf("Truth is %g at %v", v, row)
			}
			return v, err
		}
	}
	t.minNoise, t.maxNoise = run.NoiseRange()
	return t.evaluate()
}

// evaluation is what Bound works with.
type evaluation struct {
	a                  *model.Weighted
	p                  *model.Learned
	w                  []float64 // weights of the prototypes
	noise              float64   // noise variance where none was given
	minNoise, maxNoise float64   // smallest and largest in use
	in                 theorem.Inputs
	xi                 float64
	chosen             []float64
	optimum            []float64
	truth              func(u []float64) (float64, error)
}

func (t *evaluation) evaluate() (*theorem.Bound, error) {
	a := t.a
	n, _ := a.Observed().Dims()
	b := &theorem.Bound{Observations: n, Xi: t.xi}
	mean, sd := []float64{0}, []float64{0}
	if err := a.Predict(context.Background(), mean, sd, linalg.NewDense(1, len(t.chosen), slices.Clone(t.chosen))); err != nil {
		return nil, numerical(err)
	}
	b.SD = sd[0]
	var err error
	if t.in.GreedyGain {
		b.InformationGain, err = a.GreedyGain(context.Background(), n)
	} else {
		b.InformationGain, err = a.InformationGain()
	}
	if err != nil {
		return nil, numerical(err)
	}
	b.Printed.Beta = betaPrinted(t.in.Norm, t.noise, b.InformationGain, t.in.Delta)
	b.Corrected.Beta = betaCorrected(t.in.Norm, b.InformationGain, t.in.Delta)
	if b.Gaps = slices.Clone(t.in.Gaps); b.Gaps == nil {
		if b.Gaps, err = t.estimateGaps(b.Corrected.Beta); err != nil {
			return nil, err
		}
	}
	if err := t.eta(b); err != nil {
		return nil, err
	}
	t.sums(b)
	t.finish(b)
	return b, nil
}

// finish puts the two bounds together.
func (t *evaluation) finish(b *theorem.Bound) {
	// Above and below beta the difference of the eta terms enters with different
	// signs; bounds on their sizes only add up.
	above, below := b.EtaOptimum-b.EtaChosen, b.EtaChosen-b.EtaOptimum
	if !b.EtaExact {
		above = b.EtaOptimum + b.EtaChosen
		below = above
	}
	p, c := &b.Printed, &b.Corrected
	p.Probability, c.Probability = 1-t.in.Delta/2, 1-t.in.Delta/2
	p.Bracket = p.Iota*p.Alpha + above + p.Omega*b.EtaNorm
	p.DeltaTau, p.Bound = printedBound(t.xi, p.Beta, p.Bracket, b.SD)
	p.Applies = t.xi >= p.Beta

	if n := b.Observations; n > 0 && !t.in.NoiseFree {
		c.Noise = c.Omega * math.Sqrt(float64(n)) * noiseBound(n, t.maxNoise, t.in.Delta)
		c.Probability -= t.in.Delta / 4
	}
	signed := above
	if t.xi < c.Beta {
		signed = below
	}
	c.Bracket = c.Iota*c.Alpha + signed + c.Omega*b.EtaNorm + c.Noise
	c.DeltaTau, c.Bound = correctedBound(t.xi, c.Beta, c.Bracket, b.SD)
	c.Applies = true
}

// numerical gives an error of the model its sentinel.
func numerical(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", gp.ErrNumerical, err)
}
