package hierarchy

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// Few tasks hardly tell how long the lengths of their base process are: fits under a wide and
// under a narrow prior of lengths explain them about as well, and carry what they show
// to other points in different ways. So there are two models then, each with its base process and
// its population, and a run of them is two runs on the same values, which have the masses
//
//	p(y | one)/(p(y | one) + p(y | other)),
//
// the densities being those of the values told under all hypotheses of a run. Offsets and
// scales, and what makes differences between low values smaller, are of the tasks' values
// alone and so the same in both.

// like reports whether the base processes of two grids of the same points are about the same.
func (g *grid) like(o *grid) bool {
	var apart, all float64
	for i := range g.len() {
		a, b := g.gram.Row(i), o.gram.Row(i)
		for j := range i + 1 {
			apart += (a[j] - b[j]) * (a[j] - b[j])
			all += b[j] * b[j]
		}
	}
	return apart <= maxApart*maxApart*all
}

// maxApart is the difference of two base processes' covariances, in those, below which what
// is learned with the one serves for the other: tasks of which many are known have less. Chosen on
// tables, where it makes no difference to regret and saves half of an Ask.
const maxApart = 0.1

// A share is a run's among the two of a model, with its posterior mass and its candidates.
type share struct {
	*Run
	mass float64
	at   *Candidates
}

// shares returns this run and that of the second model, which are as likely before the first
// value.
func (r *Run) shares() []share {
	if r.narrow == nil {
		return []share{{r, 1, nil}}
	}
	w := 1 / (1 + math.Exp(r.narrow.log-r.log))
	return []share{{r, w, nil}, {r.narrow, 1 - w, nil}}
}

// predicted returns those of the shares that are predicted with, the first run's candidates being
// c. One alone counts wholly, whatever its mass.
func (r *Run) predicted(c *Candidates) (out []share) {
	for _, s := range r.shares() {
		if s.mass >= r.s.MinMass {
			s.at = c
			out = append(out, s)
		}
		c = c.narrows()
	}
	return out
}

// knows reports whether candidates are carried to all grids that are predicted with.
func (r *Run) knows(c *Candidates) bool {
	return !slices.ContainsFunc(r.predicted(c), func(s share) bool { return s.at == nil || s.at.blocks == nil })
}

// candidates is that of the models of those of the shares that are predicted with.
func (r *Run) candidates(ctx context.Context, x *linalg.Dense, parts []int, known *Candidates) (*Candidates, error) {
	c := new(Candidates)
	for _, s := range r.predicted(known) {
		at, err := s.m.candidates(ctx, x, r.workers, parts, s.at)
		if err != nil {
			return nil, err
		}
		if s.Run == r {
			c = at
		} else {
			c.narrow = at
		}
	}
	return c, nil
}

// mix writes what comes of what do writes of each run, joined as join does with the masses p and q
// of two.
func (r *Run) mix(dst []float64, c *Candidates, do func(s share, dst []float64) error, join func(p, x, q, y float64) float64) error {
	shares := r.predicted(c)
	if err := do(shares[0], dst); err != nil || len(shares) == 1 {
		return err
	}
	more := make([]float64, len(dst))
	if err := do(shares[1], more); err != nil {
		return err
	}
	for j, v := range more {
		dst[j] = join(shares[0].mass, dst[j], shares[1].mass, v)
	}
	return nil
}

// meanOfLogs is the logarithm of the mean of two values of which x and y are those.
func meanOfLogs(p, x, q, y float64) float64 {
	return special.LogAddExp(math.Log(p)+x, math.Log(q)+y)
}

// narrows returns those for the second model, nil for none.
func (c *Candidates) narrows() *Candidates {
	if c == nil {
		return nil
	}
	return c.narrow
}
