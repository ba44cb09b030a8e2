package baseline

import (
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// GP makes the proposals of the model that cmbo brings, which is written
// independently of it: with trials pending, failed, cancelled and of known noise,
// on a list and in a parameter space.
func TestGPIsThePlainGaussianProcess(t *testing.T) {
	listed, _ := grid(t, 6)
	for name, space := range map[string]*cmbo.Space{"list": listed, "cube": square(t)} {
		t.Run(name, func(t *testing.T) {
			f := bump([]float64{0.6, 0.4})
			m, err := learnPlainGP(ctx, space, nil)
			require.NoError(t, err)
			common := []cmbo.Option{cmbo.WithSeed(7), cmbo.WithInitial(3), cmbo.WithAcquisition(cmbo.UCB(3))}
			own := newOptimizer(t, space, common...)
			ours := newOptimizer(t, space, append(common, cmbo.WithSurrogate(m.Surrogate(7)))...)
			steps := 26
			if name == "cube" {
				steps = 18 // beyond twenty values cmbo's is fitted more often there
			}
			if testing.Short() {
				steps = 12
			}
			for i := range steps {
				var ids []int
				for range 2 {
					a := ask(t, own)
					b := ask(t, ours)
					require.Equal(t, a.X, b.X, "proposal %d", a.ID)
					ids = append(ids, a.ID)
					if i >= 3 {
						break
					}
				}
				for j, id := range ids {
					for _, o := range []*cmbo.Optimizer{own, ours} {
						switch {
						case i == 1 && j == 0:
							err = o.TellFailed(id)
						case i == 2 && j == 0:
							err = o.Cancel(id)
						case i == 5:
							err = o.Tell(id, 3*f(o.Observations()[0].X), cmbo.WithNoise(0.01))
						default:
							err = o.Tell(id, 50+3*f(mustTrial(t, o, id)))
						}
						require.NoError(t, err)
					}
				}
			}
			x := []float64{0.31, 0.77}
			m1, s1, err := own.Predict(ctx, x)
			require.NoError(t, err)
			m2, s2, err := ours.Predict(ctx, x)
			require.NoError(t, err)
			require.InEpsilon(t, m1, m2, 1e-9)
			// What is told without a past is as wide as few values leave the variance unknown.
			require.InEpsilon(t, s1, s2*(1+1.42/(float64(len(own.Observations()))-1.8)), 1e-7)
		})
	}
}

// mustTrial returns the point of an open trial.
func mustTrial(t testing.TB, o *cmbo.Optimizer, id int) []float64 {
	for _, tr := range o.Open() {
		if tr.ID == id {
			return tr.X
		}
	}
	t.Fatalf("trial %d is not open", id)
	return nil
}

// The fits of a run follow from its data, not from when they were made: after
// thirty observations told one by one, told at once, or after others.
func TestTargetFollowsFromData(t *testing.T) {
	r := testRNG(t)
	m, err := learnPlainGP(ctx, square(t), nil, withKernel(kernel.Matern52, true))
	require.NoError(t, err)
	x, z := randomPoints(r, 27, 2), randomPoints(r, 4, 2)
	d := dataAt(func(x []float64) float64 { return 1e3 + 5*bump([]float64{0.2, 0.9})(x) }, x, 28)
	for i := 0; i < 27; i += 3 {
		setNoise(&d, i, 0.02)
	}
	at := func(n int) cmbo.Data {
		p := firstOf(d, n, n+1)
		p.NoiseVariance = make([]float64, n)
		u := unit(p.Raw, p.Y)
		for i := range n {
			p.NoiseVariance[i] = d.RawNoiseVariance[i] / u / u
		}
		return p
	}
	once := m.Surrogate(1)
	require.NoError(t, once.Fit(ctx, at(27)))
	mean, sd := predict(t, once, z)

	step := m.Surrogate(1)
	for n := range 28 {
		require.NoError(t, step.Fit(ctx, at(n)))
	}
	m2, s2 := predict(t, step, z)
	require.Equal(t, mean, m2)
	require.Equal(t, sd, s2)

	other := m.Surrogate(1)
	require.NoError(t, other.Fit(ctx, dataAt(bump([]float64{0, 0}), randomPoints(r, 25, 2), 26)))
	require.NoError(t, other.Fit(ctx, at(27)))
	m3, s3 := predict(t, other, z)
	require.Equal(t, mean, m3)
	require.Equal(t, sd, s3)
}

// Random search proposes uniformly and its predictions are those of the values
// alone.
func TestRandom(t *testing.T) {
	m, err := learnRandom(ctx, square(t), nil)
	require.NoError(t, err)
	x := linalg.NewDense(50, 2, nil)
	counts := make([]float64, 50)
	const draws = 5000
	for s := range draws {
		sur := m.Surrogate(uint64(s)).(*randomRun)
		require.NoError(t, sur.Fit(ctx, cmbo.Data{Step: 3}))
		score := make([]float64, 50)
		require.NoError(t, sur.Score(ctx, score, x, nil, 0))
		best := 0
		for i, v := range score {
			if v > score[best] {
				best = i
			}
		}
		counts[best]++
	}
	// χ² with 49 degrees of freedom: 49 ± √98, and six of those.
	var chi float64
	for _, c := range counts {
		chi += (c - draws/50) * (c - draws/50) / (draws / 50)
	}
	require.InDelta(t, 49, chi, 60)

	sur := m.Surrogate(1)
	require.NoError(t, sur.Fit(ctx, cmbo.Data{X: linalg.NewDense(2, 2, nil), Y: []float64{3, 5}, Raw: []float64{3, 5}}))
	mean, sd := predict(t, sur, linalg.NewDense(1, 2, nil))
	require.Equal(t, []float64{4}, mean)
	require.Equal(t, []float64{1}, sd)
}
