package cmbo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// fuse counts the calls of a caller's code and panics at one of them.
type fuse struct{ calls, at atomic.Int64 }

var errFuse = errors.New("fuse")

func (f *fuse) call() {
	if f.calls.Add(1) == f.at.Load() {
		panic(errFuse)
	}
}

// fusedKernel panics where its fuse does.
type fusedKernel struct {
	foreign
	*fuse
}

func (k fusedKernel) Eval(x, y []float64) float64 { k.call(); return k.foreign.Eval(x, y) }
func (k fusedKernel) NumParams() int              { k.call(); return k.foreign.NumParams() }
func (k fusedKernel) AppendParams(dst []float64) []float64 {
	k.call()
	return k.foreign.AppendParams(dst)
}
func (k fusedKernel) WithParams(t []float64) (kernel.Kernel, error) {
	k.call()
	return fusedKernel{foreign{math.Exp(t[0])}, k.fuse}, nil
}

// fusedSurrogate implements everything a surrogate can.
type fusedSurrogate struct{ *fuse }

func (s fusedSurrogate) Fit(context.Context, cmbo.Data) error      { s.call(); return nil }
func (s fusedSurrogate) Bind(context.Context, *linalg.Dense) error { s.call(); return nil }
func (s fusedSurrogate) NoiseVariance() float64                    { s.call(); return 0.1 }
func (s fusedSurrogate) State(context.Context) ([]float64, error)  { s.call(); return []float64{1}, nil }
func (s fusedSurrogate) CheckState([]float64) error                { s.call(); return nil }
func (s fusedSurrogate) Fitted() (observations int, params []float64) {
	s.call()
	return 1, []float64{2}
}
func (s fusedSurrogate) CheckFitted([]float64) error { s.call(); return nil }
func (s fusedSurrogate) Weights() []float64          { s.call(); return []float64{1} }
func (s fusedSurrogate) MaxValue() float64           { s.call(); return 1 }
func (s fusedSurrogate) Describe(*cmbo.Step)         { s.call() }
func (s fusedSurrogate) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	s.call()
	for i := range mean {
		mean[i], sd[i] = x.Row(i)[0], 1
	}
	return nil
}
func (s fusedSurrogate) Score(_ context.Context, dst []float64, x *linalg.Dense, f acq.Func, _ float64) error {
	s.call()
	for i := range dst {
		dst[i] = f.Score(x.Row(i)[0], 1)
	}
	return nil
}

// TestPanicsChangeNothing has the caller's code panic at each of its calls in a run,
// or at many: the call that ran it fails with ErrPanic and leaves the optimiser as
// it was, so that the run ends as one without the panic, and as one restored from
// before it.
func TestPanicsChangeNothing(t *testing.T) {
	list, _ := grid(t, 5)
	box := unitCube(t, 2)
	f := new(fuse)
	k := fusedKernel{foreign{0.5}, f}
	prior := learn(t, box, family(4, 6), append(slices.Clip(smallSets), cmbo.WithKernel(k))...)
	known := learn(t, box, family(4, 6), smallSets...)
	small := cmbo.WithCandidateCounts(12, 4)
	cost := cmbo.WithCost(func(x []float64) float64 { f.call(); return 1 + x[0] })
	for name, tt := range map[string]struct {
		space *cmbo.Space
		opts  []cmbo.Option
		again []cmbo.Option // what Restore takes of opts
	}{
		"surrogate list": {list, []cmbo.Option{cmbo.WithSurrogate(fusedSurrogate{f})}, []cmbo.Option{cmbo.WithSurrogate(fusedSurrogate{f})}},
		"surrogate box":  {box, []cmbo.Option{cmbo.WithSurrogate(fusedSurrogate{f}), small}, []cmbo.Option{cmbo.WithSurrogate(fusedSurrogate{f})}},
		"kernel list":    {list, []cmbo.Option{cmbo.WithKernel(k), cmbo.WithInitial(1)}, []cmbo.Option{cmbo.WithKernel(k)}},
		"kernel box":     {box, []cmbo.Option{cmbo.WithKernel(k), cmbo.WithInitial(1), small}, []cmbo.Option{cmbo.WithKernel(k)}},
		"cost":           {list, []cmbo.Option{cost, cmbo.WithInitial(1), cmbo.WithBudget(100)}, []cmbo.Option{cost}},
		"prior list":     {list, []cmbo.Option{cmbo.WithPrior(prior)}, nil},
		"prior box":      {box, []cmbo.Option{cmbo.WithPrior(prior), small}, nil},
		"journal":        {list, []cmbo.Option{cmbo.WithPrior(known)}, []cmbo.Option{cmbo.WithPrior(known)}},
		"journal box":    {box, []cmbo.Option{cmbo.WithPrior(known), small}, []cmbo.Option{cmbo.WithPrior(known)}},
	} {
		t.Run(name, func(t *testing.T) {
			var journal []byte
			write := cmbo.WithJournal(func(lines []byte) error {
				if tt.again != nil && name[0] == 'j' {
					f.call()
				}
				journal = append(journal, lines...)
				return nil
			})
			if tt.again == nil {
				write = cmbo.WithParallelism(2) // a prior of foreign kernels has no digest
			}
			// run does one thing after another, each again after it panicked, and
			// returns what can be seen of the optimiser in the end.
			run := func(at int64) string {
				journal = nil
				f.calls.Store(0)
				f.at.Store(at)
				var o *cmbo.Optimizer
				panics := 0
				try := func(do func() error) {
					t.Helper()
					var before, after bytes.Buffer
					if o != nil && tt.again != nil {
						require.NoError(t, o.Snapshot(&before))
					}
					err := do()
					if errors.Is(err, cmbo.ErrPanic) {
						var p *cmbo.PanicError
						require.ErrorAs(t, err, &p)
						require.ErrorIs(t, err, errFuse)
						require.Contains(t, string(p.Stack), "fuse).call")
						panics++
						if o != nil && tt.again != nil {
							require.NoError(t, o.Snapshot(&after))
							require.Equal(t, before.String(), after.String())
							back, _, err := cmbo.RestoreJournal(bytes.NewReader(journal), tt.again...)
							require.NoError(t, err)
							after.Reset()
							require.NoError(t, back.Snapshot(&after))
							require.Equal(t, before.String(), after.String())
						}
						err = do()
					}
					require.NoError(t, err)
				}
				try(func() (err error) {
					o2, err := cmbo.New(tt.space, append(tt.opts[:len(tt.opts):len(tt.opts)], write)...)
					if err != nil {
						require.Nil(t, o2)
						return err
					}
					o = o2
					return nil
				})
				value := func(x []float64) float64 { return x[0] - x[1]*x[1] }
				var seen []any
				ask := func(n int) (ts []cmbo.Trial) {
					try(func() (err error) { ts, err = o.AskN(ctx, n); return err })
					step, _ := o.LastStep()
					seen = append(seen, ts, step.Mean, step.SD, step.Weights)
					return ts
				}
				for round := range 3 {
					ts := ask(1 + round)
					try(func() error { return o.Tell(ts[0].ID, value(ts[0].X)) })
					if round == 1 {
						try(func() error { return o.TellFailed(ts[1].ID) })
						try(func() error { return o.Observe([]float64{0.25, 0.75}, value([]float64{0.25, 0.75})) })
					}
					try(func() error {
						m, sd, err := o.Predict(ctx, []float64{0.5, 0.25})
						if err == nil {
							seen = append(seen, m, sd)
						}
						return err
					})
					try(func() error {
						w, err := o.Weights(ctx)
						if err == nil {
							seen = append(seen, w)
						}
						return err
					})
				}
				require.LessOrEqual(t, panics, 1)
				require.Equal(t, at > 0 && at <= f.calls.Load(), panics == 1)
				return fmt.Sprint(seen, o.Observations(), o.Open())
			}
			want := run(0)
			total := f.calls.Load()
			require.Positive(t, total)
			sweep := int64(60)
			if testing.Short() {
				sweep = 5
			}
			for i := range min(sweep, total) {
				at := 1 + i*total/min(sweep, total)
				require.Equal(t, want, run(at), "the panic is in call %d of %d", at, total)
			}
			f.at.Store(0)
		})
	}
}

// TestLearnReportsPanics: a kernel that panics in whatever goroutine makes Learn fail, with the
// task where there is one.
func TestLearnReportsPanics(t *testing.T) {
	list, _ := grid(t, 5)
	tasks := family(5, 12) // whose low values are replayed
	for _, workers := range []int{1, 3} {
		f := new(fuse)
		k := fusedKernel{foreign{0.5}, f}
		opts := append(slices.Clip(smallSets), cmbo.WithParallelism(workers), cmbo.WithKernel(k))
		want := learn(t, list, tasks, opts...)
		total := f.calls.Load()
		named := 0
		for i := range int64(25) {
			f.calls.Store(0)
			f.at.Store(1 + i*(total-1)/24)
			p, err := cmbo.Learn(ctx, list, tasks, opts...)
			if err == nil {
				// Fits that share a kernel's counter end after other numbers of calls.
				require.Greater(t, workers, 1)
				continue
			}
			require.Nil(t, p)
			require.ErrorIs(t, err, cmbo.ErrPanic)
			require.ErrorIs(t, err, errFuse)
			if bytes.Contains([]byte(err.Error()), []byte(`task "task-0`)) {
				named++
			}
		}
		require.Greater(t, named, 10)
		f.at.Store(0)
		again := learn(t, list, tasks, opts...)
		require.Equal(t, want.NoiseVariance(), again.NoiseVariance())
		f.calls.Store(0)
		f.at.Store(3)
		other, _ := grid(t, 6)
		_, err := want.Reindex(ctx, other)
		require.ErrorIs(t, err, cmbo.ErrPanic)
		f.calls.Store(0)
		adopted, report, err := want.Adopt(ctx, list, cmbo.Changes{})
		require.ErrorIs(t, err, cmbo.ErrPanic)
		require.Nil(t, adopted)
		require.Nil(t, report)
	}
}

// TestWhosePanic: a mistake of the library comes back as one, with the stack of where it
// was made, on whatever goroutine; it is the caller's where code of his called the library.
func TestWhosePanic(t *testing.T) {
	for _, workers := range []int{1, 3} {
		err := cmbo.IndexError(workers, func(func() int) {})
		require.ErrorIs(t, err, cmbo.ErrInternal)
		require.NotErrorIs(t, err, cmbo.ErrPanic)
		require.ErrorContains(t, err, "panic in the library")
		require.ErrorContains(t, err, "index out of range")
		var p *cmbo.PanicError
		require.ErrorAs(t, err, &p)
		require.Contains(t, string(p.Stack), "IndexError")
		err = cmbo.IndexError(workers, func(mistake func() int) { _ = mistake() })
		require.ErrorIs(t, err, cmbo.ErrPanic)
		require.NotErrorIs(t, err, cmbo.ErrInternal)
	}
	// Snapshot is short enough to be inlined here, where its closure gets this test's name.
	list, _ := grid(t, 4)
	var nowhere *bytes.Buffer // panics in a package of Go
	err := newOptimizer(t, list).Snapshot(nowhere)
	require.ErrorIs(t, err, cmbo.ErrInternal)
	require.NotErrorIs(t, err, cmbo.ErrPanic)
}

// TestWhoseKernel: a kernel of the library for points of other dimensions is a wrong option,
// one of the caller's that panics, at its first call too, a panic of his.
func TestWhoseKernel(t *testing.T) {
	list, _ := grid(t, 4)
	f := new(fuse)
	for _, call := range []func(kernel.Kernel) error{
		func(k kernel.Kernel) error { _, err := cmbo.New(list, cmbo.WithKernel(k)); return err },
		func(k kernel.Kernel) error {
			_, err := cmbo.Learn(ctx, list, family(2, 5), cmbo.WithKernel(k))
			return err
		},
	} {
		err := call(kernel.Matern32(1, 2, 3))
		require.ErrorIs(t, err, cmbo.ErrOption)
		require.ErrorContains(t, err, "the kernel does not take points of 2 coordinates: kernel: Matern32: ")
		require.False(t, errors.As(err, new(*cmbo.PanicError)))
		f.calls.Store(0)
		f.at.Store(1)
		err = call(fusedKernel{foreign{0.5}, f})
		require.NotErrorIs(t, err, cmbo.ErrOption)
		require.ErrorIs(t, err, cmbo.ErrPanic)
		require.ErrorIs(t, err, errFuse)
		require.ErrorContains(t, err, "at a point of 2 coordinates")
		var p *cmbo.PanicError
		require.ErrorAs(t, err, &p)
		require.Contains(t, string(p.Stack), "fusedKernel")
	}
}

// silentFunc is an acquisition whose name panics.
type silentFunc struct{ acq.UCB }

func (silentFunc) String() string { panic(errFuse) }

// absent is a context that panics.
type absent struct{ context.Context }

// TestPanicsUnlock: after a panic of the caller's acquisition, or of his context, which are
// called while the optimiser is locked or before it is, it goes on.
func TestPanicsUnlock(t *testing.T) {
	list, _ := grid(t, 4)
	o := newOptimizer(t, list, cmbo.WithInitial(2), cmbo.WithAcquisition(silentFunc{}))
	for range 2 {
		require.ErrorIs(t, o.Snapshot(io.Discard), cmbo.ErrPanic)
		_, err := o.Ask(absent{})
		require.ErrorIs(t, err, cmbo.ErrPanic)
		trial := ask(t, o)
		require.NoError(t, o.Tell(trial.ID, 1))
	}
	// Nothing waits for the lock of an optimiser that New did not make.
	_, err := new(cmbo.Optimizer).Ask(ctx)
	require.ErrorIs(t, err, cmbo.ErrOption)
}

// TestGoexitChangesNothing: a callback that ends its goroutine, as FailNow does,
// leaves the optimiser usable and as it was.
func TestGoexitChangesNothing(t *testing.T) {
	list, _ := grid(t, 4)
	leave := false
	o := newOptimizer(t, list, cmbo.WithInitial(2), cmbo.WithJournal(func([]byte) error {
		if leave {
			runtime.Goexit()
		}
		return nil
	}))
	trial := ask(t, o)
	before := snapshot(t, o)
	leave = true
	for _, do := range []func(){func() { _, _ = o.Ask(ctx) }, func() { _ = o.Tell(trial.ID, 1) }, func() { _ = o.Observe([]float64{0, 0}, 1) }} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			do()
		}()
		<-done
	}
	leave = false
	require.Equal(t, before, snapshot(t, o))
	require.NoError(t, o.Tell(trial.ID, 1))
	drive(t, o, bump([]float64{0.3, 0.3}), 2)
}

// TestJournalFailureLeavesTheModel: points of proposals that could not be written
// down do not change those of later ones, to the last bit.
func TestJournalFailureLeavesTheModel(t *testing.T) {
	for _, k := range kits(t) {
		t.Run(k.name, func(t *testing.T) {
			full := errors.New("disk full")
			var fail error
			o := newOptimizer(t, k.space, append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithJournal(func([]byte) error { return fail }))...)
			r := rng.Stream(5, "failing "+k.name)
			for range 4 {
				fail = full
				_, err := o.AskN(ctx, 3)
				if !errors.Is(err, cmbo.ErrNoCandidates) {
					require.ErrorIs(t, err, full)
				}
				fail = nil
				act(t, r, o, k.space)
				act(t, r, o, k.space)
				twin := restored(t, o, k.restore...)
				same(t, o, twin)
			}
		})
	}
}
