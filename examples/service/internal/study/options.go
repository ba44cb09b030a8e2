package study

import (
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
)

// sharedOptions turns what requests for studies and for priors have in common
// into cmbo's options.
func sharedOptions(seed *uint64, minimize, positive bool, policy string) ([]cmbo.SharedOption, error) {
	var opts []cmbo.SharedOption
	if seed != nil {
		opts = append(opts, cmbo.WithSeed(*seed))
	}
	if minimize {
		opts = append(opts, cmbo.WithMinimize())
	}
	if positive {
		opts = append(opts, cmbo.WithPositiveValues())
	}
	if policy != "" {
		p, err := cmbo.ParseYPolicy(policy)
		if err != nil {
			return nil, err
		}
		opts = append(opts, cmbo.WithYPolicy(p))
	}
	return opts, nil
}

// runOptions turns a request's options into cmbo's.
func runOptions(o *api.Options, l *Limits) ([]cmbo.Option, error) {
	shared, err := sharedOptions(o.Seed, o.Minimize, o.Positive, o.YPolicy)
	if err != nil {
		return nil, err
	}
	var opts []cmbo.Option
	for _, s := range shared {
		opts = append(opts, s)
	}
	if o.Acquisition != "" {
		a, err := cmbo.ParseAcquisition(o.Acquisition)
		if err != nil {
			return nil, err
		}
		opts = append(opts, cmbo.WithAcquisition(a))
	}
	if o.Initial != nil {
		if err := within("points of an initial design", *o.Initial, l.Events); err != nil {
			return nil, err
		}
		opts = append(opts, cmbo.WithInitial(*o.Initial))
	}
	if o.Checkpoints {
		opts = append(opts, cmbo.WithCheckpoints())
	}
	if err := within("outputs", len(o.Outputs), l.Dims); err != nil {
		return nil, err
	}
	for _, out := range o.Outputs {
		var of []cmbo.OutputOption
		if out.AtMost != nil {
			of = append(of, cmbo.AtMost(*out.AtMost))
		}
		if out.AtLeast != nil {
			of = append(of, cmbo.AtLeast(*out.AtLeast))
		}
		if out.Optional {
			of = append(of, cmbo.Optional())
		}
		if out.Cost {
			of = append(of, cmbo.AsCost())
		}
		opts = append(opts, cmbo.WithOutput(out.Name, of...))
	}
	if err := within("descriptors", len(o.Context), l.Dims); err != nil {
		return nil, err
	}
	if o.Budget != nil {
		opts = append(opts, cmbo.WithBudget(*o.Budget))
	}
	if o.NoiseVariance != nil {
		opts = append(opts, cmbo.WithNoiseVariance(*o.NoiseVariance))
	}
	if o.Sobol != nil || o.Local != nil {
		sobol, local := 1000, 200
		if o.Sobol != nil {
			sobol = *o.Sobol
		}
		if o.Local != nil {
			local = *o.Local
		}
		for _, n := range []int{sobol, local} {
			if err := within("candidates", n, l.Candidates); err != nil {
				return nil, err
			}
		}
		opts = append(opts, cmbo.WithCandidateCounts(sobol, local))
	}
	return opts, nil
}

// learnOptions turns a request's options into cmbo's.
func learnOptions(q *api.Learn, l *Limits) ([]cmbo.LearnOption, error) {
	shared, err := sharedOptions(q.Seed, q.Minimize, q.Positive, q.YPolicy)
	if err != nil {
		return nil, err
	}
	var opts []cmbo.LearnOption
	for _, s := range shared {
		opts = append(opts, s)
	}
	if q.IndexPoints != nil {
		if err := within("index points", *q.IndexPoints, l.Index); err != nil {
			return nil, err
		}
		opts = append(opts, cmbo.WithIndexPoints(*q.IndexPoints))
	}
	return opts, nil
}

// checkSpace holds a space against the limits.
func checkSpace(s *cmbo.Space, l *Limits) error {
	if s == nil {
		return fmt.Errorf("%w: a space is missing", ErrRequest)
	}
	if err := within("coordinates of a space", s.Dim(), l.Dims); err != nil {
		return err
	}
	return within("candidates", s.NumCandidates(), l.Candidates)
}
