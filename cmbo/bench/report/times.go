package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A Time is the wall time of a method.
type Time struct {
	// Space is empty for all spaces together.
	Space, Method string
	// Offline is the median of the seconds it took to learn from the past tasks
	// of a split, over Learned of them; Online the median of the seconds of a
	// query, each run's mean counted once, over Runs. They are NaN for none.
	Offline, Online float64
	Learned, Runs   int
}

// times takes the medians of checked timings.
func times(ts []bench.Timing, order *roster) []Time {
	type group struct{ space, method string }
	offline, online := map[group][]float64{}, map[group][]float64{}
	var groups []group
	spaces := map[string]bool{}
	for _, t := range ts {
		if t.Task != "" && t.Queries == 0 {
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
			Offline: stat.Median(offline[g]), Learned: len(offline[g]),
			Online: stat.Median(online[g]), Runs: len(online[g]),
		})
	}
	return out
}
