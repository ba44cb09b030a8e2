package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A Partition tells how well a method divided the past tasks of a space into a
// number of clusters: means over the splits for which all numbers are known.
type Partition struct {
	Space, Method string
	Clusters      int
	Splits        int
	// IntraCE is the paper's distance within clusters, InterCS the one between
	// them, in units of the Wasserstein distance.
	IntraCE, InterCS float64
	// Largest is the share of the tasks in the largest cluster, NaN if unknown.
	Largest float64
}

// partitions averages checked clusterings.
func partitions(cs []bench.Clustering, order *roster) []Partition {
	type group struct{ space, method string }
	numbers, splits := map[group]map[int]bool{}, map[group]map[int]int{}
	for _, c := range cs {
		g := group{c.Space, c.Method}
		if numbers[g] == nil {
			numbers[g], splits[g] = map[int]bool{}, map[int]int{}
		}
		numbers[g][c.Clusters] = true
		splits[g][c.Split]++
	}
	var ps []Partition
	for _, c := range cs { // by space, method, number and split
		g := group{c.Space, c.Method}
		if splits[g][c.Split] < len(numbers[g]) {
			continue
		}
		if n := len(ps); n == 0 || ps[n-1].Space != c.Space || ps[n-1].Method != c.Method || ps[n-1].Clusters != c.Clusters {
			ps = append(ps, Partition{Space: c.Space, Method: c.Method, Clusters: c.Clusters})
		}
		p := &ps[len(ps)-1]
		p.Splits++
		p.IntraCE += c.IntraCE
		p.InterCS += c.InterCS
		var tasks int
		for _, n := range c.Sizes {
			tasks += n
		}
		p.Largest += float64(slices.Max(append([]int{0}, c.Sizes...))) / float64(tasks)
	}
	for i := range ps {
		n := float64(ps[i].Splits)
		ps[i].IntraCE, ps[i].InterCS, ps[i].Largest = ps[i].IntraCE/n, ps[i].InterCS/n, ps[i].Largest/n
	}
	slices.SortStableFunc(ps, func(a, b Partition) int {
		return cmp.Or(strings.Compare(a.Space, b.Space), order.compare(a.Method, b.Method), cmp.Compare(a.Clusters, b.Clusters))
	})
	return ps
}

// distinct returns the partitions without those of methods that divide the tasks
// like another one in all spaces, and for each method left out the one it is like.
func (s *Summary) distinct() (ps []Partition, alike map[string]string) {
	by := map[string][]Partition{}
	var methods []string
	for _, p := range s.Partitions {
		m := p.Method
		if by[m] == nil {
			methods = append(methods, m)
		}
		p.Method = ""
		by[m] = append(by[m], p)
	}
	slices.SortFunc(methods, s.roster.compare)
	same := func(a, b Partition) bool {
		a.Largest, b.Largest = 0, 0 // may be NaN, and adds nothing
		return a == b
	}
	alike = map[string]string{}
	for i, m := range methods {
		for _, o := range methods[:i] {
			if alike[o] == "" && slices.EqualFunc(by[m], by[o], same) {
				alike[m] = o
				break
			}
		}
	}
	for _, p := range s.Partitions {
		if alike[p.Method] == "" {
			ps = append(ps, p)
		}
	}
	return ps, alike
}

// A Time is the wall time of a method.
type Time struct {
	// Space is empty for all spaces together.
	Space, Method string
	// Offline is the median of the seconds it took to learn from the past tasks
	// of a split, over Lessons of them; Online the median of the seconds of a
	// query, each run's mean counted once, over Runs. They are NaN for none.
	Offline, Online float64
	Lessons, Runs   int
}

// times takes the medians of checked timings. Those of the study of the number of
// clusters do not count.
func times(ts []bench.Timing, order *roster) []Time {
	type group struct{ space, method string }
	offline, online := map[group][]float64{}, map[group][]float64{}
	var groups []group
	spaces := map[string]bool{}
	for _, t := range ts {
		if t.Clusters > 0 || t.Task != "" && t.Queries == 0 {
			continue
		}
		spaces[t.Space] = true
		for _, g := range []group{{"", t.Method}, {t.Space, t.Method}} {
			if t.Task == "" {
				offline[g] = append(offline[g], t.Seconds)
			} else {
				online[g] = append(online[g], t.Seconds/float64(t.Queries))
			}
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(strings.Compare(a.space, b.space), order.compare(a.method, b.method))
	})
	groups = slices.Compact(groups)
	var out []Time
	for _, g := range groups {
		if g.space == "" && len(spaces) == 1 {
			continue
		}
		out = append(out, Time{
			Space: g.space, Method: g.method,
			Offline: stat.Median(offline[g]), Lessons: len(offline[g]),
			Online: stat.Median(online[g]), Runs: len(online[g]),
		})
	}
	return out
}
