package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// How often intervals of 95 % hold the ratio of two methods that are equally good, on tables of so many tasks: what
// EVIDENCE.md says of them.
func TestRatioCoverage(t *testing.T) {
	testutil.SkipShort(t, "it counts what intervals hold")
	for _, c := range []struct {
		tasks       []int // by table
		experiments int
		want        float64
	}{{[]int{15, 3, 6, 34, 3}, 300, .87}, {[]int{6}, 1500, .85}, {[]int{3}, 1500, .75}} {
		r, held := rand.New(rand.NewPCG(1, 2)), 0.
		for range c.experiments {
			var rs []bench.Record
			for space, tasks := range c.tasks {
				for task := range tasks {
					for _, method := range []string{"base", "other"} {
						rs = append(rs, flat(fmt.Sprint(space), method, fmt.Sprint(task), min(.02*math.Exp(.5*r.NormFloat64()), 1)))
					}
				}
			}
			of, err := ratios(rs, "base", 1000)
			require.NoError(t, err)
			if of[0].Lower <= 1 && 1 <= of[0].Upper {
				held += 1 / float64(c.experiments)
			}
		}
		t.Logf("%v tasks: %.3f", c.tasks, held)
		require.InDelta(t, c.want, held, .025)
	}
}
