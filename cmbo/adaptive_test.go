package cmbo

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

func randomTasks(label string, k, n, d int) []Task {
	tasks := make([]Task, k)
	for j := range tasks {
		r := rng.Stream(5, label, uint64(j))
		tasks[j].ID = fmt.Sprint("t", j)
		for range n + j {
			x := make([]float64, d)
			s := float64(j % 3)
			for i := range x {
				x[i] = r.Float64()
				s += math.Sin(3*x[i] + float64(j%3))
			}
			tasks[j].X = append(tasks[j].X, x)
			tasks[j].Y = append(tasks[j].Y, s+0.05*r.NormFloat64())
		}
	}
	return tasks
}

// mixtureKernel is k0 = Σ_C w_C²·mean over members of their posterior
// covariances, by package gaussian's processes one pair of points at a time.
type mixtureKernel struct {
	members []*gaussian.Process
	share   []float64
}

func (m mixtureKernel) Eval(x, y []float64) float64 {
	a, b := linalg.NewDense(1, len(x), append([]float64(nil), x...)), linalg.NewDense(1, len(y), append([]float64(nil), y...))
	var s float64
	var c linalg.Dense
	for i, p := range m.members {
		if err := p.CovTo(&c, a, b); err != nil {
			panic(err)
		}
		s += m.share[i] * c.At(0, 0)
	}
	return s
}
func (m mixtureKernel) NumParams() int                              { return 0 }
func (m mixtureKernel) AppendParams(dst []float64) []float64        { return dst }
func (m mixtureKernel) WithParams([]float64) (kernel.Kernel, error) { return m, nil }

// TestAdaptiveMatchesDefinition compares the surrogate with the definition of
// the adaptive prior, put together from package gaussian's processes.
func TestAdaptiveMatchesDefinition(t *testing.T) {
	const dim, noise = 3, 0.02
	tasks := randomTasks("definition", 7, 12, dim)
	labels := []int{0, 1, 2, 0, 1, 2, 0}
	k := kernel.Scale(1.3, kernel.Matern32(0.5))
	box, err := UnitCube(dim)
	require.NoError(t, err)
	r := rng.Stream(9, "targets")
	var rows [][]float64
	for range 50 {
		rows = append(rows, []float64{r.Float64(), r.Float64(), r.Float64()})
	}
	list, err := box.WithCandidates(rows)
	require.NoError(t, err)
	outside := [][]float64{{0.1, 0.2, 0.3}, {0.9, 0.9, 0.9}}

	for name, tt := range map[string]struct {
		learn, run *Space
		index      int
	}{
		"candidates are the index set":     {list, list, 300},
		"index set within the candidates":  {list, list, 20},
		"candidates of another space":      {box, list, 20},
		"no candidates":                    {box, box, 30},
		"candidates unknown when learning": {box, list, 300},
	} {
		t.Run(name, func(t *testing.T) {
			prior, err := Learn(context.Background(), tt.learn, tasks, WithLabels(labels), WithHyperparameters(k, 0.01), WithIndexPoints(tt.index))
			require.NoError(t, err)
			o, err := New(tt.run, WithPrior(prior), WithYPolicy(None), WithNoiseVariance(noise), WithCandidateCounts(40, 10))
			require.NoError(t, err)
			f := func(x []float64) float64 { return math.Sin(3*x[0]) + x[1] - x[2] }
			for _, x := range outside {
				require.NoError(t, o.Observe(x, f(x)))
			}
			for range 4 {
				trial, err := o.Ask(context.Background())
				require.NoError(t, err)
				require.NoError(t, o.Tell(trial.ID, f(trial.X)))
			}

			w := o.Weights()
			sizes := []float64{3, 2, 2}
			m := mixtureKernel{}
			for j, task := range tasks {
				s := scaleValues(ZScore, task.Y)
				p, err := gaussian.NewProcess(k, gaussian.WithNoise(0.01))
				require.NoError(t, err)
				require.NoError(t, p.Fit(box.encodeAll(task.X), s.z))
				m.members = append(m.members, p)
				m.share = append(m.share, w[labels[j]]*w[labels[j]]/sizes[labels[j]])
			}
			mean0 := func(x []float64) float64 {
				var sum float64
				mean, variance := []float64{0}, []float64{0}
				for j, p := range m.members {
					if err := p.PredictTo(mean, variance, linalg.NewDense(1, len(x), append([]float64(nil), x...))); err != nil {
						panic(err)
					}
					sum += w[labels[j]] / sizes[labels[j]] * mean[0]
				}
				return sum
			}
			target, err := gaussian.NewProcess(m, gaussian.WithNoise(noise), gaussian.WithMean(mean0))
			require.NoError(t, err)
			obs := o.Observations()
			var xs [][]float64
			var ys []float64
			for _, ob := range obs {
				xs, ys = append(xs, ob.X), append(ys, ob.Y)
			}
			require.NoError(t, target.Fit(box.encodeAll(xs), ys))
			for _, x := range append([][]float64{{0.4, 0.6, 0.5}, rows[3], rows[17]}, xs...) {
				mean, variance := []float64{0}, []float64{0}
				require.NoError(t, target.PredictTo(mean, variance, linalg.NewDense(1, dim, append([]float64(nil), x...))))
				gm, gs, err := o.Predict(x)
				require.NoError(t, err)
				require.InDelta(t, mean[0], gm, 1e-9)
				require.InDelta(t, math.Sqrt(variance[0]), gs, 1e-8)
			}
		})
	}
}

// TestCarriedBarycenter: on the index set the extension is the barycentre.
func TestCarriedBarycenter(t *testing.T) {
	tasks := randomTasks("carried", 4, 15, 2)
	box, err := UnitCube(2)
	require.NoError(t, err)
	p, err := Learn(context.Background(), box, tasks, WithLabels([]int{0, 0, 0, 0}), WithPrototype(Barycenter), WithIndexPoints(40))
	require.NoError(t, err)
	q := p.prototypes[0]
	n, _ := p.index.Dims()
	mean, variance := make([]float64, n), make([]float64, n)
	var cross linalg.Dense
	require.NoError(t, q.carrier.at(context.Background(), 2, mean, variance, &cross, p.index, p.index))
	for i := range n {
		require.InDelta(t, q.normal.Mean()[i], mean[i], 1e-8)
		require.InDelta(t, q.normal.Cov().At(i, i), variance[i], 1e-8)
		for j := range n {
			require.InDelta(t, q.normal.Cov().At(i, j), cross.At(i, j), 1e-8)
		}
	}
	// Far from all data it returns to the kernel: positive, bounded variance.
	far := linalg.NewDense(1, 2, []float64{0.999, 0.001})
	require.NoError(t, q.carrier.at(context.Background(), 1, mean[:1], variance[:1], nil, nil, far))
	require.Greater(t, variance[0], 0.0)
}

// TestAdaptiveGrowsByRows: a fixed prior's factor that grew by rows gives the
// same bits as one made at once.
func TestAdaptiveGrowsByRows(t *testing.T) {
	tasks := randomTasks("rows", 5, 15, 2)
	box, err := UnitCube(2)
	require.NoError(t, err)
	r := rng.Stream(9, "row targets")
	p, err := Learn(context.Background(), box, tasks, WithVariant(GlobalCen), WithIndexPoints(30))
	require.NoError(t, err)
	for _, opts := range [][]Option{{WithPrior(p)}, nil} {
		grown, err := New(box, opts...)
		require.NoError(t, err)
		whole, err := New(box, opts...)
		require.NoError(t, err)
		probe := []float64{0.3, 0.8}
		for range 24 {
			x := []float64{r.Float64(), r.Float64()}
			y := math.Sin(5*x[0]) + x[1]
			require.NoError(t, grown.Observe(x, y))
			require.NoError(t, whole.Observe(x, y))
			_, _, err = grown.Predict(probe)
			require.NoError(t, err)
		}
		m1, s1, err := grown.Predict(probe)
		require.NoError(t, err)
		m2, s2, err := whole.Predict(probe)
		require.NoError(t, err)
		require.Equal(t, m2, m1)
		require.Equal(t, s2, s1)
	}
}

// TestAdaptiveSingularPosterior: a posterior that rounding left indefinite gets
// the jitter it needs, whatever the distance.
func TestAdaptiveSingularPosterior(t *testing.T) {
	const n = 20
	ctx := context.Background()
	r := rng.Stream(9, "singular")
	dense := linalg.NewDense(3, n, nil)
	for i := range 3 {
		for j := range n {
			dense.Row(i)[j] = r.NormFloat64()
		}
	}
	rm := &room{mean: make([]float64, n)}
	set := func() {
		rm.cov.Resize(n)
		rm.cov.Zero()
		rm.cov.AddTransGram(1, dense)
		rm.cov.AddDiag(-1e-14)
	}
	normals := make([]*gaussian.Normal, 3)
	for i := range normals {
		s := linalg.NewSym(n, nil)
		s.AddDiag(1 + float64(i))
		var err error
		normals[i], err = gaussian.NewNormal(make([]float64, n), s)
		require.NoError(t, err)
	}
	for _, jitter := range []float64{0, 1e-2} {
		a := &adaptive{distance: Jeffreys, jitter: jitter, view: view{workers: 1}}
		got := make([]float64, len(normals))
		set()
		used, err := a.jeffreys(ctx, rm, got, normals)
		require.NoError(t, err)
		require.Equal(t, jitter == 0, used > 0, "jitter %g of the posterior beside %g of the divergence", used, jitter)
		set()
		rm.cov.AddDiag(used)
		post, err := gaussian.NewNormal(rm.mean, &rm.cov)
		require.NoError(t, err)
		for i, p := range normals {
			want, _, err := gaussian.Jeffreys(p, post, jitter)
			require.NoError(t, err)
			require.InEpsilon(t, want, got[i], 1e-9)
		}
		set()
		used, err = a.wasserstein(ctx, rm, got, normals)
		require.NoError(t, err)
		require.Positive(t, used)
	}
	// A prototype without a density is infinitely far from any posterior with one.
	flat, err := gaussian.NewNormal(make([]float64, n), linalg.NewSym(n, nil))
	require.NoError(t, err)
	set()
	rm.cov.AddDiag(1)
	got := make([]float64, 2)
	a := &adaptive{distance: Jeffreys, view: view{workers: 1}}
	_, err = a.jeffreys(ctx, rm, got, []*gaussian.Normal{flat, normals[0]})
	require.NoError(t, err)
	require.True(t, math.IsInf(got[0], 1))
	require.Positive(t, got[1])
	require.False(t, math.IsInf(got[1], 1))
}

// TestPosteriorGeometry compares packed distances with package gaussian.
func TestPosteriorGeometry(t *testing.T) {
	tasks := randomTasks("geometry", 6, 12, 2)
	box, err := UnitCube(2)
	require.NoError(t, err)
	points := box.encodeAll(sobolRows(box, 25, rng.Stream(1, "points")))
	ps := newPosteriors(len(tasks), points)
	normals := make([]*gaussian.Normal, len(tasks))
	for j, task := range tasks {
		s := scaleValues(ZScore, task.Y)
		src, err := newSource(task.ID, box.encodeAll(task.X), s.z, nil, kernel.Scale(1, kernel.Matern32x12(0.4+0.1*float64(j))), 0.01)
		require.NoError(t, err)
		jitter, err := ps.set(j, src, new(posteriorScratch))
		require.NoError(t, err)
		require.Zero(t, jitter)
		mean, cov := make([]float64, 25), new(linalg.Sym)
		require.NoError(t, src.jointTo(mean, cov, points, new(sourceScratch)))
		normals[j], err = gaussian.NewNormal(mean, cov)
		require.NoError(t, err)
	}
	members := []int{1, 3, 4}
	third := 1.0 / 3
	want, err := gaussian.Centroid([]*gaussian.Normal{normals[1], normals[3], normals[4]}, []float64{third, third, third})
	require.NoError(t, err)

	g := ps.geometry(Wasserstein, 1)
	require.True(t, g.metric())
	c, err := g.mean(0, members)
	require.NoError(t, err)
	for j := range tasks {
		w, err := gaussian.W2(normals[j], want)
		require.NoError(t, err)
		d, err := g.distance(0, j, c)
		require.NoError(t, err)
		require.InEpsilon(t, w, d, 1e-10)
		require.LessOrEqual(t, g.lower(j, c), d*(1+1e-12))
		require.GreaterOrEqual(t, g.upper(j, c), d*(1-1e-12))
		pj := g.point(j)
		low, high := g.apart(pj, c)
		require.Equal(t, []float64{g.lower(j, c), g.upper(j, c)}, []float64{low, high})
		d, err = g.distance(0, j, pj)
		require.NoError(t, err)
		require.InDelta(t, 0, d, 1e-6)
		pair, err := g.pair(0, j, (j+1)%len(tasks))
		require.NoError(t, err)
		w, err = gaussian.W2(normals[j], normals[(j+1)%len(tasks)])
		require.NoError(t, err)
		require.InEpsilon(t, w, pair, 1e-10)
	}

	g = ps.geometry(Jeffreys, 1)
	require.False(t, g.metric())
	var top float64
	for j := range tasks {
		require.NoError(t, g.prepare(0, j))
		top = max(top, normals[j].Trace()/25)
	}
	require.InEpsilon(t, 1e-6*top, g.jitter, 1e-12)
	c, err = g.mean(0, members)
	require.NoError(t, err)
	for j := range tasks {
		w, used, err := gaussian.Jeffreys(normals[j], want, g.jitter)
		require.NoError(t, err)
		require.Equal(t, g.jitter, used)
		d, err := g.distance(0, j, c)
		require.NoError(t, err)
		require.InEpsilon(t, w, d, 1e-8)
		d, err = g.distance(0, j, g.point(j))
		require.NoError(t, err)
		require.Zero(t, d)
	}
}
