package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/gocmbo/cmbo/cmbo"
)

// buckets are those of the drivers that need no network.
func buckets(t *testing.T, test func(t *testing.T, b *Store)) {
	for name, url := range map[string]string{"file": "file://" + filepath.ToSlash(t.TempDir()), "memory": "mem://"} {
		t.Run(name, func(t *testing.T) {
			b, err := OpenStore(ctx, url)
			require.NoError(t, err)
			defer b.Close()
			test(t, b)
		})
	}
}

var ctx = context.Background()

func square(t *testing.T) *cmbo.Space {
	s, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	return s
}

func f(x []float64) float64 { return 1 - (x[0]-0.3)*(x[0]-0.3) - (x[1]-0.6)*(x[1]-0.6) }

var few = cmbo.WithCandidateCounts(40, 10)

// TestPriors: a prior is stored under its digest, once, and another content is found out.
func TestPriors(t *testing.T) {
	buckets(t, func(t *testing.T, b *Store) {
		s := square(t)
		var tasks []cmbo.Task
		for i := range 3 {
			k := cmbo.Task{ID: fmt.Sprint(i)}
			for j := range 6 {
				x := []float64{float64(j) / 5, float64(i*j%6) / 5}
				k.X, k.Y = append(k.X, x), append(k.Y, f(x)+float64(i))
			}
			tasks = append(tasks, k)
		}
		p, err := cmbo.Learn(ctx, s, tasks)
		require.NoError(t, err)
		q, err := cmbo.Learn(ctx, s, tasks[:2])
		require.NoError(t, err)
		digest, err := PutPrior(ctx, b, p)
		require.NoError(t, err)
		again, err := PutPrior(ctx, b, p)
		require.NoError(t, err)
		require.Equal(t, digest, again)
		back, err := Prior(ctx, b, digest)
		require.NoError(t, err)
		require.Equal(t, 3, back.NumTasks())

		_, err = Prior(ctx, b, "none")
		require.Error(t, err)
		other, err := q.Digest()
		require.NoError(t, err)
		require.NoError(t, b.Copy(ctx, "priors/"+other, "priors/"+digest, nil))
		_, err = Prior(ctx, b, other)
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
	})
}

// TestLongTask: a prior that is stored can be read, whatever a stranger's may have.
func TestLongTask(t *testing.T) {
	b, err := OpenStore(ctx, "mem://")
	require.NoError(t, err)
	defer b.Close()
	task := cmbo.Task{ID: "long"}
	for i := range 2001 {
		x := []float64{float64(i%20) / 19, float64(i%7) / 6}
		task.X, task.Y = append(task.X, x), append(task.Y, f(x)+float64(i%3)/100)
	}
	p, err := cmbo.Learn(ctx, square(t), []cmbo.Task{task}, cmbo.WithIndexPoints(20))
	require.NoError(t, err)
	digest, err := PutPrior(ctx, b, p)
	require.NoError(t, err)
	_, err = Prior(ctx, b, digest)
	require.NoError(t, err)
}

// TestTwoWriters: writers that fight for one run, round after round, opening it again when
// they have lost: in each round one of them goes on, and every event that was acknowledged
// is in the journal, once.
func TestTwoWriters(t *testing.T) {
	buckets(t, func(t *testing.T, b *Store) {
		const rounds = 20
		s := square(t)
		told := make(map[int]float64) // acknowledged
		wins := make([]int, 2)
		var runs [2]*cmbo.Optimizer
		for round := range rounds {
			var wg sync.WaitGroup
			var mu sync.Mutex
			for w := range runs {
				for runs[w] == nil { // in the first round the other one may begin the run
					o, err := Open(ctx, b, "fought-for", s, few)
					if err != nil {
						require.ErrorIs(t, err, ErrTaken)
					}
					runs[w] = o
				}
			}
			for w, o := range runs {
				wg.Go(func() {
					trial, err := o.Ask(ctx)
					y := 0.0
					if err == nil {
						y = f(trial.X) + float64(w) // so that it shows who told
						err = o.Tell(trial.ID, y)
					}
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						told[trial.ID] = y
						wins[w]++
					case errors.Is(err, ErrTaken):
						if _, err := o.Ask(ctx); !errors.Is(err, ErrTaken) {
							t.Errorf("writer %d lost and went on: %v", w, err)
						}
						runs[w] = nil
					default:
						t.Errorf("writer %d: %v", w, err)
					}
				})
			}
			wg.Wait()
			require.Equal(t, round+1, wins[0]+wins[1], "one wins, one loses")
		}
		o, err := Open(ctx, b, "fought-for", s, few)
		require.NoError(t, err)
		require.Len(t, told, rounds)
		require.Len(t, o.Observations(), rounds)
		for _, obs := range o.Observations() {
			require.Equal(t, told[obs.Trial], obs.Y)
		}
		t.Logf("won: %v", wins)
	})
}

// TestBeginning: of writers that begin one run at once, one begins it.
func TestBeginning(t *testing.T) {
	buckets(t, func(t *testing.T, b *Store) {
		s := square(t)
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for w := range errs {
			wg.Go(func() { _, errs[w] = Open(ctx, b, "new", s, few) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				require.ErrorIs(t, err, ErrTaken)
			}
		}
		o, err := Open(ctx, b, "new", s, few)
		require.NoError(t, err)
		_, err = o.Ask(ctx)
		require.NoError(t, err)
	})
}

// TestSameLines: two writers that ask for the same trial write the same lines, and still
// one of them alone has the run.
func TestSameLines(t *testing.T) {
	buckets(t, func(t *testing.T, b *Store) {
		s := square(t)
		_, err := Open(ctx, b, "run", s, few)
		require.NoError(t, err)
		one, err := Open(ctx, b, "run", s, few)
		require.NoError(t, err)
		two, err := Open(ctx, b, "run", s, few)
		require.NoError(t, err)
		a, err := one.Ask(ctx)
		require.NoError(t, err)
		_, err = two.Ask(ctx)
		require.ErrorIs(t, err, ErrTaken)
		require.Empty(t, two.Observations())
		require.NoError(t, one.Tell(a.ID, f(a.X)))

		again, err := Open(ctx, b, "run", s, few)
		require.NoError(t, err)
		require.Len(t, again.Observations(), 1)
		_, err = Open(ctx, b, "run", s, few, cmbo.WithSeed(2))
		require.ErrorIs(t, err, cmbo.ErrOption)
	})
}

// TestDamage: segments that are missing or cut are found out, and a store that fails is not
// written to any more.
func TestDamage(t *testing.T) {
	buckets(t, func(t *testing.T, b *Store) {
		s := square(t)
		c, cancel := context.WithCancel(ctx)
		o, err := Open(c, b, "run", s, few)
		require.NoError(t, err)
		for range 3 {
			trial, err := o.Ask(ctx)
			require.NoError(t, err)
			require.NoError(t, o.Tell(trial.ID, f(trial.X)))
		}
		cancel()
		_, err = o.Ask(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, o.Observations(), 3)

		whole, err := b.ReadAll(ctx, "runs/run/00000003")
		require.NoError(t, err)
		require.NoError(t, b.WriteAll(ctx, "runs/run/00000003", whole[:len(whole)-5], nil))
		_, err = Open(ctx, b, "run", s, few)
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.NoError(t, b.Delete(ctx, "runs/run/00000003"))
		_, err = Open(ctx, b, "run", s, few)
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, "00000004 in the place of runs/run/00000003")
		require.NoError(t, b.WriteAll(ctx, "runs/run/00000003", whole, nil))
		o, err = Open(ctx, b, "run", s, few)
		require.NoError(t, err)
		require.Len(t, o.Observations(), 3)
	})
}

// TestRun: the program, twice over one folder.
func TestRun(t *testing.T) {
	url := "file://" + t.TempDir()
	require.NoError(t, run(ctx, url, "example", 2))
	require.NoError(t, run(ctx, url, "example", 2))
	b, err := blob.OpenBucket(ctx, url)
	require.NoError(t, err)
	defer b.Close()
	it := b.List(&blob.ListOptions{Prefix: "runs/example/"})
	n := 0
	for _, err := it.Next(ctx); err == nil; _, err = it.Next(ctx) {
		n++
	}
	require.Equal(t, 9, n, "the beginning, four asked and four told")
}

// TestRelativeFolder: the lock of a bucket lies in its folder.
func TestRelativeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, run(ctx, "file://./bucket?create_dir=true", "example", 1))
	require.FileExists(t, filepath.Join("bucket", ".create.lock"))
}
