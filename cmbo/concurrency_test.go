package cmbo_test

import (
	"bytes"
	"errors"
	"flag"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

var soak = flag.Duration("soak", 0, "for how long TestOptimizerFromManyGoroutines begins again")

// TestOptimizerFromManyGoroutines lets sixteen of them ask, tell, fail, cancel,
// observe, look and snapshot at once, and holds what they were told against what
// the optimiser has in the end. Its worth is greatest under -race.
func TestOptimizerFromManyGoroutines(t *testing.T) {
	rounds := uint64(0)
	for start := time.Now(); rounds == 0 || time.Since(start) < *soak; rounds++ {
		manyGoroutines(t, rounds)
	}
	t.Logf("%d rounds", rounds)
}

func manyGoroutines(t *testing.T, round uint64) {
	const workers = 16
	rounds := 6
	if *soak > 0 {
		rounds = 16
	}
	space, rows := grid(t, 25)
	target := bump([]float64{0.3, 0.6})
	// A small index set and one goroutine for each call keep calls short.
	prior := learn(t, space, family(6, 20), cmbo.WithIndexPoints(30))
	var journal bytes.Buffer
	opt := newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithParallelism(1), cmbo.WithJournal(func(lines []byte) error {
		journal.Write(lines) // calls never overlap
		return nil
	}))

	var mu sync.Mutex
	fate := make(map[int]string) // by trial
	taken := make(map[int]int)   // trial by row, unless cancelled
	observed := 0
	settle := func(trial cmbo.Trial, how string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Errorf("trial %d, %s: %v", trial.ID, how, err)
		}
		if was, twice := fate[trial.ID]; twice {
			t.Errorf("trial %d: %s, but it was %s", trial.ID, how, was)
		}
		fate[trial.ID] = how
		if how != "cancelled" {
			if other, twice := taken[trial.Index]; twice {
				t.Errorf("row %d proposed as trial %d and as trial %d", trial.Index, other, trial.ID)
			}
			taken[trial.Index] = trial.ID
		}
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rng.Stream(3+round, "worker", uint64(w))
			for range rounds {
				trials, err := opt.AskN(ctx, 1+r.IntN(2))
				if err != nil {
					t.Errorf("ask: %v", err)
					return
				}
				for _, trial := range trials {
					switch r.IntN(8) {
					case 0:
						settle(trial, "failed", opt.TellFailed(trial.ID))
					case 1:
						settle(trial, "cancelled", opt.Cancel(trial.ID))
					case 2:
						settle(trial, "open", nil)
					default:
						settle(trial, "told", opt.Tell(trial.ID, target(trial.X)))
						if err := opt.Tell(trial.ID, 0); !errors.Is(err, cmbo.ErrTrialClosed) {
							t.Errorf("trial %d told twice: %v", trial.ID, err)
						}
					}
				}
				switch r.IntN(6) {
				case 0:
					x := rows[r.IntN(len(rows))]
					if err := opt.Observe(x, target(x)); err != nil {
						t.Errorf("observe: %v", err)
					}
					mu.Lock()
					observed++
					mu.Unlock()
				case 1:
					var b bytes.Buffer
					if err := opt.Snapshot(&b); err != nil {
						t.Errorf("snapshot: %v", err)
					}
					if _, ok := opt.LastStep(); !ok {
						t.Errorf("no last step after asking")
					}
				case 2:
					opt.Best()
					weightsOf(t, opt)
					opt.Trials()
					opt.Observations()
				case 3:
					if _, _, err := opt.Predict(ctx, rows[r.IntN(len(rows))]); err != nil {
						t.Errorf("predict: %v", err)
					}
				}
			}
		}()
	}
	wg.Wait()

	// Every trial has one fate; IDs have no gap; what was told is there, once.
	count := make(map[string]int)
	for id := 1; id <= len(fate); id++ {
		require.Contains(t, fate, id)
		count[fate[id]]++
	}
	require.Len(t, opt.Open(), count["open"])
	require.Len(t, opt.Observations(), count["told"]+observed)
	for _, o := range opt.Observations() {
		require.Equal(t, target(o.X), o.Y)
	}
	for _, trial := range opt.Trials() {
		require.Equal(t, cmbo.Status(fate[trial.ID]), trial.Status)
	}
	require.Len(t, opt.Trials(), len(fate))

	// The journal tells in what order things happened: it leads to this state,
	// and on as here.
	again, valid, err := cmbo.RestoreJournal(bytes.NewReader(journal.Bytes()), cmbo.WithPrior(prior))
	require.NoError(t, err)
	require.EqualValues(t, journal.Len(), valid)
	require.Equal(t, opt.Observations(), again.Observations())
	require.Equal(t, opt.Trials(), again.Trials())
	require.Equal(t, weightsOf(t, opt), weightsOf(t, again))
	next := ask(t, opt)
	same := ask(t, again)
	require.Equal(t, next, same)
}

// TestPriorIsShared: optimisers with one prior, used at once, do what each does
// alone.
func TestPriorIsShared(t *testing.T) {
	space, _ := grid(t, 11)
	prior := learn(t, space, family(8, 10))
	run := func(seed uint64) []cmbo.Observation {
		o := newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithSeed(seed), cmbo.WithInitial(2), cmbo.WithParallelism(1))
		drive(t, o, bump([]float64{0.4, 0.4}), 6)
		return o.Observations()
	}
	want := make([][]cmbo.Observation, 8)
	for i := range want {
		want[i] = run(uint64(i))
	}
	got := make([][]cmbo.Observation, len(want))
	var wg sync.WaitGroup
	for i := range got {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got[i] = run(uint64(i))
		}()
	}
	wg.Wait()
	require.Equal(t, want, got)
}

// BenchmarkOptimizerMemory tells what an optimiser holds beside the prior it
// shares, before its first question and in the middle of a run, over a list, which Reindex has
// all share, and without one; and once it was restored.
func BenchmarkOptimizerMemory(b *testing.B) {
	listed, _ := grid(b, 17)
	open, err := cmbo.UnitCube(2)
	require.NoError(b, err)
	for _, tt := range []struct {
		name              string
		space             *cmbo.Space
		told              int
		reindex, restored bool
	}{
		{"list", listed, 0, false, false}, {"list,told=50", listed, 50, false, false}, {"Reindex", listed, 0, true, false},
		{"Reindex,told=50", listed, 50, true, false}, {"cube,told=50", open, 50, false, false}, {"cube,told=50,restored", open, 50, false, true},
	} {
		prior := learn(b, tt.space, family(40, 50))
		if tt.reindex {
			prior, err = prior.Reindex(b.Context(), tt.space)
			require.NoError(b, err)
		}
		b.Run(tt.name, func(b *testing.B) {
			var before, after runtime.MemStats
			var keep []*cmbo.Optimizer
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				o := newOptimizer(b, tt.space, cmbo.WithPrior(prior), cmbo.WithParallelism(1))
				if tt.told > 0 {
					drive(b, o, bump([]float64{0.4, 0.4}), tt.told)
				}
				if tt.restored {
					var snapshot bytes.Buffer
					require.NoError(b, o.Snapshot(&snapshot))
					o, err = cmbo.Restore(&snapshot, cmbo.WithPrior(prior))
					require.NoError(b, err)
				}
				keep = append(keep, o)
			}
			// The second empties the pools, which all optimisers share.
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(len(keep))/1024, "kB/optimizer")
			runtime.KeepAlive(keep)
		})
	}
}

// TestLearnDoesNotDependOnWorkers: the same prior, bit for bit, from any number of
// goroutines.
func TestLearnDoesNotDependOnWorkers(t *testing.T) {
	space, _ := grid(t, 6)
	tasks := family(17, 6)
	counts := []int{1, 2, 3, 8}
	if testing.Short() {
		counts = []int{1, 3}
	}
	for _, opts := range [][]cmbo.LearnOption{nil, {cmbo.WithYPolicy(cmbo.Copula), cmbo.WithIndexPoints(20)}} {
		var want string
		var report cmbo.LearnReport
		for _, workers := range counts {
			p := learn(t, space, tasks, append(opts, cmbo.WithParallelism(workers))...)
			digest, err := p.Digest()
			require.NoError(t, err)
			if workers == 1 {
				want, report = digest, p.Report()
			}
			require.Equal(t, want, digest, "%d workers", workers)
			require.Equal(t, report, p.Report())
		}
	}
}
