package paper

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// definition is the adaptive prior: of mean Σ_C w_C·mean over members of their
// posterior means and of covariance Σ_C w_C²·mean over members of their posterior
// covariances, one member at a time.
type definition struct {
	members      []*gp.Process
	mean, square []float64 // shares in either
}

func (d definition) Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	clear(mean)
	clear(variance)
	n, _ := x.Dims()
	for i, p := range d.members {
		m, v := make([]float64, n), make([]float64, n)
		if err := p.Moments(ctx, m, v, x); err != nil {
			return err
		}
		if mean != nil {
			linalg.Axpy(mean, d.mean[i], m)
		}
		if variance != nil {
			linalg.Axpy(variance, d.square[i], v)
		}
	}
	return nil
}

func (d definition) Cov(ctx context.Context, dst, x, y *linalg.Dense) error {
	n, _ := x.Dims()
	m, _ := y.Dims()
	dst.Resize(n, m)
	dst.Zero()
	for i, p := range d.members {
		var c linalg.Dense
		if err := p.Cov(ctx, &c, x, y); err != nil {
			return err
		}
		dst.AddScaled(d.square[i], &c)
	}
	return nil
}

func (d definition) Gram(ctx context.Context, dst *linalg.Sym, x *linalg.Dense) error {
	n, _ := x.Dims()
	dst.Resize(n)
	dst.Zero()
	for i, p := range d.members {
		var c linalg.Sym
		if err := p.Gram(ctx, &c, x); err != nil {
			return err
		}
		dst.AddScaled(d.square[i], &c)
	}
	return nil
}

// TestAdaptiveMatchesDefinition compares the surrogate with the definition of
// the adaptive prior, put together from a process for each task.
func TestAdaptiveMatchesDefinition(t *testing.T) {
	const dim, noise = 3, 0.02
	tasks := waves("definition", 7, 12, dim)
	labels := []int{0, 1, 2, 0, 1, 2, 0}
	k := kernel.Scale(1.3, kernel.Matern32(0.5))
	box, err := cmbo.UnitCube(dim)
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
		learn, run *cmbo.Space
		index      int
	}{
		"candidates are the index set":     {list, list, 300},
		"index set within the candidates":  {list, list, 20},
		"candidates of another space":      {box, list, 20},
		"no candidates":                    {box, box, 30},
		"candidates unknown when learning": {box, list, 300},
	} {
		t.Run(name, func(t *testing.T) {
			prior := learn(t, tt.learn, tasks, WithLabels(labels), WithHyperparameters(k, 0.01), WithIndexPoints(tt.index))
			o, _ := begin(t, tt.run, prior, []RunOption{WithNoiseVariance(noise)}, cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithCandidateCounts(40, 10))
			f := func(x []float64) float64 { return math.Sin(3*x[0]) + x[1] - x[2] }
			for _, x := range outside {
				require.NoError(t, o.Observe(x, f(x)))
			}
			for range 4 {
				trial := ask(t, o)
				require.NoError(t, o.Tell(trial.ID, f(trial.X)))
			}

			w, err := o.Weights(ctx)
			require.NoError(t, err)
			sizes := []float64{3, 2, 2}
			var m definition
			for j, task := range tasks {
				y := cmbo.ZScore.Apply(task.Y)
				p, err := gp.Condition(context.Background(), gp.FromKernel{Kernel: k}, box.EncodeAll(task.X), y, gp.Noise(nil, len(y), 0.01))
				require.NoError(t, err)
				m.members = append(m.members, p)
				m.mean = append(m.mean, w[labels[j]]/sizes[labels[j]])
				m.square = append(m.square, w[labels[j]]*w[labels[j]]/sizes[labels[j]])
			}
			obs := o.Observations()
			var xs [][]float64
			var ys []float64
			for _, ob := range obs {
				xs, ys = append(xs, ob.X), append(ys, ob.Y)
			}
			target, err := gp.Condition(context.Background(), m, box.EncodeAll(xs), ys, gp.Noise(nil, len(ys), noise))
			require.NoError(t, err)
			for _, x := range append([][]float64{{0.4, 0.6, 0.5}, rows[3], rows[17]}, xs...) {
				mean, variance := []float64{0}, []float64{0}
				require.NoError(t, target.Moments(context.Background(), mean, variance, linalg.NewDense(1, dim, append([]float64(nil), x...))))
				gm, gs, err := o.Predict(ctx, x)
				require.NoError(t, err)
				require.InDelta(t, mean[0], gm, 1e-9)
				require.InDelta(t, math.Sqrt(variance[0]), gs, 1e-8)
			}
		})
	}
}

// TestCarriedBarycenter: on the index set the extension is the barycentre.
func TestCarriedBarycenter(t *testing.T) {
	tasks := waves("carried", 4, 15, 2)
	learned := learn(t, square(t), tasks, WithVariant(WssClusWssCMPBary), WithLabels([]int{0, 0, 0, 0}), WithIndexPoints(40))
	q := learned.prototypes[0]
	n, _ := learned.index.Dims()
	mean, variance := make([]float64, n), make([]float64, n)
	var cross linalg.Dense
	require.NoError(t, q.evaluator.at(context.Background(), 2, mean, variance, &cross, learned.index, learned.index))
	for i := range n {
		require.InDelta(t, q.normal.Mean()[i], mean[i], 1e-8)
		require.InDelta(t, q.normal.Cov().At(i, i), variance[i], 1e-8)
		for j := range n {
			require.InDelta(t, q.normal.Cov().At(i, j), cross.At(i, j), 1e-8)
		}
	}
	// Far from all data it returns to the kernel: positive, bounded variance.
	far := linalg.NewDense(1, 2, []float64{0.999, 0.001})
	require.NoError(t, q.evaluator.at(context.Background(), 1, mean[:1], variance[:1], nil, nil, far))
	require.Greater(t, variance[0], 0.0)
}

// TestAdaptiveGrowsByRows: a fixed prior's factor that grew by rows gives the
// same bits as one made at once.
func TestAdaptiveGrowsByRows(t *testing.T) {
	box := square(t)
	r := rng.Stream(9, "row targets")
	p := learn(t, box, waves("rows", 5, 15, 2), WithVariant(GlobalCen), WithIndexPoints(30))
	grown, _ := begin(t, box, p, nil)
	whole, _ := begin(t, box, p, nil)
	probe := []float64{0.3, 0.8}
	for range 24 {
		x := []float64{r.Float64(), r.Float64()}
		y := math.Sin(5*x[0]) + x[1]
		require.NoError(t, grown.Observe(x, y))
		require.NoError(t, whole.Observe(x, y))
		_, _, err := grown.Predict(ctx, probe)
		require.NoError(t, err)
	}
	m1, s1, err := grown.Predict(ctx, probe)
	require.NoError(t, err)
	m2, s2, err := whole.Predict(ctx, probe)
	require.NoError(t, err)
	require.Equal(t, m2, m1)
	require.Equal(t, s2, s1)
}
