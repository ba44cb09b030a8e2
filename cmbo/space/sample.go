package space

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/qmc"
	"github.com/gocmbo/cmbo/internal/rng"
)

// spread maps a point of the unit cube with one coordinate a parameter to a row of the space.
func (s *Space) spread(u []float64) []float64 {
	return each.Below(len(u), func(i int) float64 { return s.params[i].spread(u[i]) })
}

// sobol returns what draws one row after the other of a scrambled Sobol sequence.
func (s *Space) sobol(src *rand.Rand) (next func() []float64) {
	q := qmc.New(len(s.params), src)
	u := make([]float64, len(s.params))
	return func() []float64 {
		q.Next(u)
		return s.spread(u)
	}
}

// Spread returns up to n rows of a parameter space spread by a scrambled Sobol
// sequence, without repetitions: fewer where the space has not many more points.
func (s *Space) Spread(n int, src *rand.Rand) [][]float64 {
	next := s.sobol(src)
	seen := make(map[string]bool, n)
	rows := make([][]float64, 0, n)
	// Discrete parameters repeat; a bounded number of further points makes up for it.
	for tries := 0; len(rows) < n && tries < 4*n; tries++ {
		row := next()
		if key := points.Key(row); !seen[key] {
			seen[key] = true
			rows = append(rows, row)
		}
	}
	return rows
}

// Pairs returns n points, and n that are independent of them, both spread by one scrambled Sobol
// sequence; of a list of candidates each parameter is drawn from its column. Points may repeat.
func (s *Space) Pairs(n int, src *rand.Rand) (a, b [][]float64) {
	dim := len(s.params)
	row := s.spread
	if s.Finite() {
		row = func(u []float64) []float64 {
			for k, v := range u {
				u[k] = s.rows[int(v*float64(len(s.rows)))][k]
			}
			return slices.Clone(u)
		}
	}
	q := qmc.New(2*dim, src)
	u := make([]float64, 2*dim)
	for range n {
		q.Next(u)
		a, b = append(a, row(u[:dim])), append(b, row(u[dim:]))
	}
	return a, b
}

// Sample returns n points of the space, without repetitions: of a parameter space those of a scrambled
// Sobol sequence, of a list of candidates a random choice; all where there are no more than n, and
// fewer than n where they repeat too often. The same seed gives the same points. It fails with
// [ErrOption] if n is negative, or above 2^24 of a parameter space that has more points than that.
func (s *Space) Sample(n int, seed uint64) ([][]float64, error) {
	if err := s.Defined(); err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("%w: a sample of %d points", ErrOption, n)
	}
	src := rng.Stream(seed, "sample")
	if s.Finite() {
		var rows [][]float64
		for _, i := range src.Perm(len(s.rows)) {
			if len(rows) < n && s.first[i] == i {
				rows = append(rows, slices.Clone(s.rows[i]))
			}
		}
		return rows, nil
	}
	const most = 1 << 24
	if rows := s.Enumerate(min(n, most)); rows != nil {
		return rows, nil
	}
	if n > most {
		return nil, fmt.Errorf("%w: a sample of %d points; the most is %d", ErrOption, n, most)
	}
	return s.Spread(n, src), nil
}

// Design returns n rows of a parameter space spread by a scrambled Sobol sequence; rows may repeat. They are the
// first of any longer list from the same src.
func (s *Space) Design(n int, src *rand.Rand) [][]float64 {
	next := s.sobol(src)
	return each.Below(n, func(int) []float64 { return next() })
}

// Enumerate lists all points of a discrete space, nil if it has more than limit points.
func (s *Space) Enumerate(limit int) [][]float64 {
	total := 1.0
	for _, p := range s.params {
		if total *= p.count(); total > float64(limit) {
			return nil
		}
	}
	rows := [][]float64{{}}
	for _, p := range s.params {
		var next [][]float64
		for _, r := range rows {
			for k := range int(p.count()) {
				next = append(next, append(r[:len(r):len(r)], p.nth(float64(k))))
			}
		}
		rows = next
	}
	return rows
}

// Local candidates move each number with this probability. If half of many choices changed, what is near a point would be
// points drawn at random.
const moveProb = 0.5

// Steps of fineStep and less refine numbers: a row that had another choice, too, would be no nearer to the one around which
// it is.
const fineStep = 0.02

// choice reports what counts as a choice there: a number of two or three values moves by half its range at least.
func (p Param) choice() bool { return !p.numeric() || p.count() <= 3 }

// Near returns n rows around a row of a parameter space, repetitions included: each moves in one parameter at least, a
// number by about step, a part of its range; of categoricals, booleans and numbers of two or three values about one
// changes. Steps of 0.02 and less move the numbers that may move so little alone, if there are any. A move beyond a bound
// ends there, at the row itself if on it.
func (s *Space) Near(around []float64, n int, step float64, r *rand.Rand) [][]float64 {
	rows := make([][]float64, 0, n)
	buf := make([]float64, s.dim)
	choices := 0.0
	var all, move []int
	for k, p := range s.params {
		if all = append(all, k); p.choice() {
			choices++
		} else if step <= fineStep && step*(p.count()-1) >= 1 {
			move = append(move, k)
		}
	}
	if move == nil {
		move = all
	}
	for range n {
		row := slices.Clone(around)
		forced := move[r.IntN(len(move))]
		for _, k := range move {
			p, prob := s.params[k], moveProb
			if p.choice() {
				prob = min(prob, 1/choices)
			}
			if k != forced && r.Float64() >= prob {
				continue
			}
			switch p.kind {
			case KindCategorical, KindBool:
				if choices := int(p.hi) + 1; choices > 1 {
					v := r.IntN(choices - 1)
					if v >= int(row[k]) {
						v++
					}
					row[k] = float64(v)
				}
			default:
				p.encode(buf, row[k])
				buf[0] += step * r.NormFloat64()
				row[k] = p.decode(buf)
				if n := p.count(); row[k] == around[k] && !math.IsInf(n, 1) {
					// A move too small for the grid goes to a neighbour.
					row[k] = p.nth(min(max(p.rank(around[k])+float64(2*r.IntN(2)-1), 0), n-1))
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}
