package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/rng"
)

// A Ratio compares a method with another one by the areas under their curves of mean
// regret: the geometric mean, over search spaces, of the one's by the other's.
type Ratio struct {
	Method string
	// Mean is the geometric mean; Lower and Upper bound 95 % of its bootstrap, which draws
	// tasks within each space, NaN with fewer than two tasks a space.
	Mean, Lower, Upper float64
	// Least and Largest are the spaces of the smallest and of the largest ratio, By theirs.
	Least, Largest     string
	LeastBy, LargestBy float64
	// Runs is the number of runs that both have.
	Runs int
}

// leastArea is the area under a curve as which a smaller one counts, so that a space that is solved by the first
// questions does not decide a geometric mean: a regret of a tenth of a per cent for five of fifty queries.
const leastArea = 1e-4

// Ratios compares the other methods of records, in the order of their names, with the one called base, on the runs that
// both have. Runs with different acquisitions are different ones; those of a method that has none stand beside each. It
// fails with [ErrInput] if there are no records, if one makes no sense, or if a method has no run in common with base.
func Ratios(records []bench.Record, base string) ([]Ratio, error) {
	return ratios(records, base, resamples)
}

func ratios(records []bench.Record, base string, resamples int) ([]Ratio, error) {
	fields, methods, _, err := fieldsOf(records)
	if err != nil {
		return nil, err
	}
	var out []Ratio
	for _, m := range unique(methods) {
		if m == base {
			continue
		}
		p := newSample(shareAll(fields, []string{m, base}), 0, 1)
		if p.runs == 0 {
			return nil, inputErrorf(m, cmbo.ErrNoTasks, "it has no run in common with %s", base)
		}
		out = append(out, p.ratio(m, resamples))
	}
	return out, nil
}

// Chosen returns what it brings to choose a method, base among them, for each search space by its area: the geometric
// mean, over spaces, of the ratio of the method that has the least area on the odd divisions of a space to base, there,
// and on the even ones, and the other way round. Here is where it was chosen, there where it was not; a space counts
// that has divisions of both kinds, NaN if none has. It fails as [Ratios] does.
func Chosen(records []bench.Record, base string) (here, there float64, err error) {
	halves := map[string][2][]bench.Record{}
	for _, r := range records {
		of := halves[r.Space]
		of[r.Split&1] = append(of[r.Split&1], r)
		halves[r.Space] = of
	}
	n := 0
	for _, space := range slices.Sorted(maps.Keys(halves)) {
		var by [2][]Ratio
		for i, half := range halves[space] {
			if by[i], err = ratios(half, base, 0); err != nil && len(half) > 0 {
				return 0, 0, err
			}
		}
		if len(by[0]) == 0 || len(by[1]) == 0 {
			continue
		}
		for i := range by {
			n++
			best := slices.MinFunc(by[i], func(a, b Ratio) int { return cmp.Compare(a.Mean, b.Mean) })
			other := slices.IndexFunc(by[1-i], func(r Ratio) bool { return r.Method == best.Method })
			if best.Mean < 1 && other >= 0 {
				here, there = here+math.Log(best.Mean), there+math.Log(by[1-i][other].Mean)
			}
		}
	}
	return math.Exp(here / float64(n)), math.Exp(there / float64(n)), nil
}

// A sample holds the areas of methods on the runs that all of them have. The last method is
// the one that the others are held against.
type sample struct {
	spaces []string
	sums   [][][]float64 // by space and task: the sum of each method's areas, and at last the number of runs
	runs   int
}

// newSample takes the areas of these methods of strata.
func newSample(strata []*stratum, methods ...int) *sample {
	p := &sample{}
	sums := map[[2]string][]float64{} // by space and task
	for _, st := range strata {
		for run, id := range st.ids {
			at := [2]string{st.space, id.task}
			if sums[at] == nil {
				sums[at] = make([]float64, len(methods)+1)
			}
			for k, m := range methods {
				sums[at][k] += area(st.records[m][run].Regret)
			}
			sums[at][len(methods)]++
			p.runs++
		}
	}
	inOrder := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, at := range slices.SortedFunc(maps.Keys(sums), inOrder) {
		last := len(p.spaces) - 1
		if last < 0 || p.spaces[last] != at[0] {
			p.spaces, p.sums = append(p.spaces, at[0]), append(p.sums, nil)
			last++
		}
		p.sums[last] = append(p.sums[last], sums[at])
	}
	return p
}

// ratio compares the best of the others of each space, of each draw that of its own, with the
// last method. Tasks count as often as they have runs.
func (p *sample) ratio(method string, resamples int) Ratio {
	r := Ratio{Method: method, Runs: p.runs, LeastBy: math.Inf(1), LargestBy: math.Inf(-1), Lower: math.NaN(),
		Upper: math.NaN()}
	few := false                       // tasks of a space, which have no interval then
	logs := make([]float64, resamples) // of the geometric means of the draws
	for i, space := range p.spaces {
		by := logRatio(p.sums[i])
		r.Mean += by / float64(len(p.spaces))
		v := math.Exp(by)
		if v < r.LeastBy {
			r.Least, r.LeastBy = space, v
		}
		if v > r.LargestBy {
			r.Largest, r.LargestBy = space, v
		}
		n := len(p.sums[i])
		few = few || n < 2
		g := rng.Stream(seed, "report/ratio/"+space)
		drawn := make([][]float64, n)
		for k := range logs {
			for j := range drawn {
				drawn[j] = p.sums[i][g.IntN(n)]
			}
			logs[k] += logRatio(drawn) / float64(len(p.spaces))
		}
	}
	r.Mean = math.Exp(r.Mean)
	if !few {
		slices.Sort(logs)
		k := int(math.Round((1 - coverage) / 2 * float64(resamples)))
		r.Lower, r.Upper = math.Exp(logs[k]), math.Exp(logs[resamples-1-k])
	}
	return r
}

// logRatio returns the logarithm of the ratio of the least of the other methods' mean areas
// over tasks to that of the last one.
func logRatio(tasks [][]float64) float64 {
	last := len(tasks[0]) - 2
	least := math.Inf(1)
	for m := range last {
		least = min(least, meanArea(tasks, m))
	}
	return math.Log(max(least, leastArea) / max(meanArea(tasks, last), leastArea))
}

// meanArea returns the mean area of a method over the runs of tasks.
func meanArea(tasks [][]float64, method int) float64 {
	var sum, n float64
	for _, t := range tasks {
		sum, n = sum+t[method], n+t[len(t)-1]
	}
	return sum / n
}
