//go:build linux

package cmbo_test

import (
	"flag"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

var (
	manyTasks  = flag.Int("many-tasks", 0, "learn a prior of so many generated tasks, and report time, memory and digest")
	manyShards = flag.Bool("many-shards", false, "learn the tasks of -many-tasks again in five divisions and at GOMAXPROCS 1, 2 and 8")
	manyRegret = flag.Int("many-regret", 0, "run so many targets with priors of 100, 1,000 and 10,000 tasks of one generator")
)

// A generator makes tasks of one population: functions on 400 points of the cube, the sum
// of a function that all have in common and of one of their own, both with features of
// several lengths, measured with noise.
type generator struct {
	space *cmbo.Space
	rows  [][]float64
	phi   [][]float64 // features, by point
	mean  []float64   // weights that all have in common
}

func newGenerator(t testing.TB) *generator {
	const features = 60
	g := &generator{rows: make([][]float64, 400)}
	r := rng.Stream(1, "generator")
	for i := range g.rows {
		g.rows[i] = []float64{r.Float64(), r.Float64(), r.Float64()}
	}
	g.phi = make([][]float64, len(g.rows))
	for range features {
		w := []float64{3 * r.NormFloat64(), 3 * r.NormFloat64(), 2 * r.NormFloat64()}
		b := 2 * math.Pi * r.Float64()
		for i, x := range g.rows {
			g.phi[i] = append(g.phi[i], math.Cos(w[0]*x[0]+w[1]*x[1]+w[2]*x[2]+b)*math.Sqrt(2.0/features))
		}
		g.mean = append(g.mean, r.NormFloat64())
	}
	var err error
	g.space, err = cmbo.Candidates(g.rows)
	require.NoError(t, err)
	return g
}

// values are those of task j at all points, without noise.
func (g *generator) values(j int, r interface{ NormFloat64() float64 }) []float64 {
	w := slices.Clone(g.mean)
	for i := range w {
		w[i] += 0.7 * r.NormFloat64()
	}
	shift, scale := 5*r.NormFloat64(), math.Exp(0.5*r.NormFloat64())
	y := make([]float64, len(g.rows))
	for i, phi := range g.phi {
		for k, v := range phi {
			y[i] += w[k] * v
		}
		y[i] = shift + scale*y[i]
	}
	return y
}

func (g *generator) task(j int) cmbo.Task {
	r := rng.Stream(2, "generated task", uint64(j))
	y := g.values(j, r)
	t := cmbo.Task{ID: fmt.Sprintf("task-%07d", j)}
	for _, i := range r.Perm(len(y))[:20] {
		t.X, t.Y = append(t.X, g.rows[i]), append(t.Y, y[i]+0.05*r.NormFloat64())
	}
	return t
}

// read gives n tasks, beginning elsewhere and going by other strides for each order.
func (g *generator) read(n, order int) func() iter.Seq2[cmbo.Task, error] {
	stride := 1
	for s := 7 * order; s > 1; s++ {
		if gcd(s, n) == 1 {
			stride = s
			break
		}
	}
	return func() iter.Seq2[cmbo.Task, error] {
		return func(yield func(cmbo.Task, error) bool) {
			for i := range n {
				if !yield(g.task((order+i*stride)%n), nil) {
					return
				}
			}
		}
	}
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// TestManyTasks learns a prior of as many tasks as -many-tasks says, end to end:
//
//	go test ./cmbo -run TestManyTasks -many-tasks 100000 -timeout 0 -v
func TestManyTasks(t *testing.T) {
	if *manyTasks == 0 {
		t.Skip("-many-tasks says how many")
	}
	g, n := newGenerator(t), *manyTasks
	begin, cpu := time.Now(), cpuTime()
	p, err := cmbo.LearnFrom(ctx, g.space, g.read(n, 0))
	require.NoError(t, err)
	wall, used := time.Since(begin), cpuTime()-cpu
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	want := digest(t, p)
	t.Logf("%d tasks: %.1f s, %.1f s of processors, %d MB at most, GOMAXPROCS %d, digest %s", p.NumTasks(), wall.Seconds(), used.Seconds(), u.Maxrss>>10, runtime.GOMAXPROCS(0), want)
	if !*manyShards {
		return
	}
	for i, procs := range []int{1, 2, 8} {
		old := runtime.GOMAXPROCS(procs)
		p, err := cmbo.LearnFrom(ctx, g.space, g.read(n, 1+i))
		runtime.GOMAXPROCS(old)
		require.NoError(t, err)
		require.Equal(t, want, digest(t, p))
		t.Logf("GOMAXPROCS %d, order %d: the same", procs, 1+i)
	}
	for i, shards := range []int{1, 2, 3, 16, 101} {
		l, err := cmbo.NewLearner(g.space)
		require.NoError(t, err)
		for more := true; more; {
			parts := make([]*cmbo.Learner, shards)
			for s := range parts {
				parts[s] = l.Shard()
			}
			k := 0
			for task := range g.read(n, 4+i)() {
				require.NoError(t, parts[(k*k+k/7)%shards].Add(task))
				k++
			}
			for _, s := range parts {
				require.NoError(t, l.Merge(s))
			}
			more, err = l.EndPass(ctx)
			require.NoError(t, err)
		}
		p, err := l.Prior(ctx)
		require.NoError(t, err)
		require.Equal(t, want, digest(t, p))
		t.Logf("%d shards, order %d: the same", shards, 4+i)
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestManyTasksRegret: more tasks of one generator do not make runs worse.
//
//	go test ./cmbo -run TestManyTasksRegret -many-regret 100 -timeout 0 -v
func TestManyTasksRegret(t *testing.T) {
	if *manyRegret == 0 {
		t.Skip("-many-regret says how many targets")
	}
	g := newGenerator(t)
	const steps = 20
	var before []float64
	for _, n := range []int{100, 1000, 10_000} {
		p, err := cmbo.LearnFrom(ctx, g.space, g.read(n, 0))
		require.NoError(t, err)
		p, err = p.Reindex(ctx, g.space)
		require.NoError(t, err)
		areas := make([]float64, *manyRegret)
		for k := range areas {
			r := rng.Stream(3, "target", uint64(k))
			y := g.values(k, r)
			lo, hi, best := slices.Min(y), slices.Max(y), math.Inf(-1)
			o := newOptimizer(t, g.space, cmbo.WithPrior(p))
			for range steps {
				trial := ask(t, o)
				v := y[g.space.Index(trial.X)]
				require.NoError(t, o.Tell(trial.ID, v+0.05*r.NormFloat64()))
				best = max(best, v)
				areas[k] += (hi - best) / (hi - lo) / steps
			}
		}
		mean, deviation := meanOf(areas), 0.0
		t.Logf("%6d tasks: normalised regret of %d steps %.5f on average over %d targets", n, steps, mean, len(areas))
		if before != nil {
			d := make([]float64, len(areas))
			for k := range d {
				d[k] = areas[k] - before[k]
			}
			for _, v := range d {
				deviation += (v - meanOf(d)) * (v - meanOf(d))
			}
			deviation = math.Sqrt(deviation/float64(len(d)-1)) / math.Sqrt(float64(len(d)))
			t.Logf("        less than before by %.5f ± %.5f", -meanOf(d), deviation)
			require.Less(t, meanOf(d), 2*deviation, "two standard errors")
		}
		before = areas
	}
}

func meanOf(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x / float64(len(v))
	}
	return s
}
