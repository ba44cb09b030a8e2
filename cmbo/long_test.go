package cmbo_test

import (
	"bytes"
	"flag"
	"runtime"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

var observations = flag.Int("observations", 60, "number of observations in each run of TestLongRun")

// TestLongRun: runs of many observations end as they would have with a restart in
// the middle, and hold memory in proportion to the square of their observations.
func TestLongRun(t *testing.T) {
	testutil.SkipShort(t, "it measures memory")
	list, _ := grid(t, 50)
	box := unitCube(t, 2)
	prior := learn(t, box, family(5, 10), smallSets...)
	n := min(*observations, 2400) // candidates
	f := bump([]float64{0.3, 0.6})
	for name, k := range map[string]kit{
		"prior, list": {space: list, opts: []cmbo.Option{cmbo.WithPrior(prior)}, restore: []cmbo.Option{cmbo.WithPrior(prior)}},
		"plain, box":  {space: box, opts: []cmbo.Option{cmbo.WithCandidateCounts(50, 10)}},
	} {
		t.Run(name, func(t *testing.T) {
			var journal []byte
			write := cmbo.WithJournal(func(lines []byte) error {
				journal = append(journal, lines...)
				return nil
			})
			o := newOptimizer(t, k.space, append(k.opts, write)...)
			// All but the last ten come as a batch would: ten at a time.
			for len(o.Observations()) < n {
				ts := askN(t, o, min(10, n-len(o.Observations())))
				for _, trial := range ts {
					require.NoError(t, o.Tell(trial.ID, f(trial.X)))
				}
			}
			require.Len(t, o.Observations(), n)
			back, _, err := cmbo.RestoreJournal(bytes.NewReader(journal), k.restore...)
			require.NoError(t, err)
			same(t, o, back)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			// Two optimisers: factors of n², columns over the candidates, the log.
			require.Less(t, m.HeapAlloc, uint64(200<<20+2*8*(6*n*n+10*n*2500)))
			t.Logf("%d observations, %d kB of journal, %d MB in use", n, len(journal)>>10, m.HeapAlloc>>20)
		})
	}
}
