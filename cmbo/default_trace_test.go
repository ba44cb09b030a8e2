package cmbo_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

var updateTrace = flag.Bool("update", false, "write testdata/default_trace.json, what TestDefaultTrace compares with")

// A defaultTrace is what the default did on fixed problems, numbers as the hexadecimal
// digits of their bits.
type defaultTrace struct {
	// Arithmetic tells builds apart: see arithmetic.
	Arithmetic string                        `json:"arithmetic"`
	Runs       map[string][]defaultTraceStep `json:"runs"`
}

type defaultTraceStep struct {
	Asked   []string `json:"asked"`            // the points, one after the other
	Predict []string `json:"predict"`          // mean and deviation at a few fixed points
	Shares  []string `json:"shares,omitempty"` // mass and reversed part of each, largest first
	Step    string   `json:"step"`             // hash of all candidates' means, deviations, scores and chances
}

// TestDefaultTrace compares runs of the default with what they were when the trace was
// written, by
//
//	go test ./cmbo -run TestDefaultTrace -update
//
// bit for bit on a build whose arithmetic is the trace's, GOAMD64=v1 without tags, and
// within a tolerance on others. A change of behaviour changes the trace; a change of
// structure must not.
func TestDefaultTrace(t *testing.T) {
	testutil.SkipRace(t, "one goroutine asks")
	got := defaultTrace{Arithmetic: arithmetic(), Runs: make(map[string][]defaultTraceStep)}
	for _, p := range defaultProblems(t) {
		got.Runs[p.name] = p.run(t)
	}
	if *updateTrace {
		raw, err := json.MarshalIndent(got, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join("testdata", "default_trace.json"), append(raw, '\n'), 0o644))
	}
	var want defaultTrace
	testutil.Golden(t, "default_trace.json", &want)
	require.Len(t, want.Runs, len(got.Runs))
	exact := got.Arithmetic == want.Arithmetic
	if !exact {
		t.Log("this build's arithmetic is not the trace's: numbers are compared within a tolerance")
	}
	for name, steps := range want.Runs {
		require.Len(t, got.Runs[name], len(steps), name)
		for i, w := range steps {
			g := got.Runs[name][i]
			if exact {
				require.Equal(t, w, g, "%s, step %d", name, i)
				continue
			}
			within(t, numbers(t, w.Asked), numbers(t, g.Asked), 1e-6, "%s, step %d: asked", name, i)
			within(t, numbers(t, w.Predict), numbers(t, g.Predict), 1e-4, "%s, step %d: predictions", name, i)
			within(t, numbers(t, w.Shares), numbers(t, g.Shares), 1e-4, "%s, step %d: shares", name, i)
		}
	}
}

// arithmetic is a hash of what builds do differently: they fuse multiplications with
// additions, have an exponential of their own, or add inner products in another order.
func arithmetic() string {
	r := rng.Stream(1, "arithmetic")
	out := fnv.New64a()
	x, y := make([]float64, 37), make([]float64, 37)
	for range 64 {
		for i := range x {
			x[i], y[i] = r.NormFloat64(), r.NormFloat64()
		}
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64() // not in memory, where nothing is fused
		put(out, a*b+c, math.Exp(x[2]), math.Log(math.Abs(x[3])), math.Sqrt(math.Abs(x[4])), linalg.Dot(x, y))
		linalg.Axpy(y, x[5], x)
		put(out, y...)
	}
	return fmt.Sprintf("%016x", out.Sum64())
}

// put hashes bits; fnv never fails.
func put(h interface{ Write([]byte) (int, error) }, v ...float64) {
	_ = binary.Write(h, binary.LittleEndian, v)
}

func hexadecimal(v ...float64) []string {
	out := make([]string, len(v))
	for i, x := range v {
		out[i] = fmt.Sprintf("%016x", math.Float64bits(x))
	}
	return out
}

func numbers(t *testing.T, hex []string) []float64 {
	out := make([]float64, len(hex))
	for i, s := range hex {
		var bits uint64
		_, err := fmt.Sscanf(s, "%x", &bits)
		require.NoError(t, err)
		out[i] = math.Float64frombits(bits)
	}
	return out
}

// A defaultProblem is a run of the default: at each of so many steps it asks for batch
// points and answers them, the last of them a step late.
type defaultProblem struct {
	name         string
	space        *cmbo.Space
	prior        *cmbo.Prior
	steps, batch int
	f            func(x []float64) float64 // NaN where an evaluation fails
	noise        func(i int) float64       // variance of evaluation i, 0 where it is not told
	options      []cmbo.Option
}

func (p *defaultProblem) run(t *testing.T) []defaultTraceStep {
	o := newOptimizer(t, p.space, append([]cmbo.Option{cmbo.WithPrior(p.prior)}, p.options...)...)
	fixed := [][]float64{{0.2, 0.3, 0.9}, {0.6, 0.1, 0.4}, {0.95, 0.8, 0.7}}
	if p.space.Finite() {
		for i := range fixed {
			var err error
			fixed[i], err = p.space.Candidate(11 * i)
			require.NoError(t, err)
		}
	}
	var out []defaultTraceStep
	var late []cmbo.Trial
	told := 0
	answer := func(trials ...cmbo.Trial) {
		for _, tr := range trials {
			y := p.f(tr.X)
			var opts []cmbo.ObservationOption
			if p.noise != nil && p.noise(told) > 0 {
				opts = append(opts, cmbo.WithNoise(p.noise(told)))
			}
			told++
			if math.IsNaN(y) {
				require.NoError(t, o.TellFailed(tr.ID))
			} else {
				require.NoError(t, o.Tell(tr.ID, y, opts...))
			}
		}
	}
	for range p.steps {
		var s defaultTraceStep
		trials := askN(t, o, p.batch)
		for _, tr := range trials {
			s.Asked = append(s.Asked, hexadecimal(tr.X...)...)
		}
		step, ok := o.LastStep()
		require.True(t, ok)
		h := fnv.New64a()
		for _, v := range [][]float64{step.Mean, step.SD, step.Scores, step.Success, step.Weights, {step.NoiseVariance}} {
			put(h, v...)
		}
		s.Step = fmt.Sprintf("%016x", h.Sum64())
		answer(late...)
		last := len(trials) - 1
		if p.batch == 1 {
			last = 1
		}
		answer(trials[:last]...)
		late = trials[last:]
		for _, x := range fixed {
			mean, sd := predict(t, o, x[:p.space.Dim()])
			s.Predict = append(s.Predict, hexadecimal(mean, sd)...)
		}
		transfer := transferOf(t, o)
		for _, sh := range transfer.Hypotheses {
			s.Shares = append(s.Shares, hexadecimal(sh.Mass, sh.Reversed)...)
		}
		out = append(out, s)
	}
	return out
}

// defaultProblems are a list and a box, with 90 past tasks and with few, with failures,
// pending points, noise variances, values that are unlike the past's or upside down, and a prior
// that was encoded.
func defaultProblems(t *testing.T) []defaultProblem {
	box := unitCube(t, 3)
	list := syntheticList(120, 3)
	// Tasks of four kinds, each with an offset and a scale of its own.
	kind := func(j int, x []float64) float64 {
		r := rng.Stream(5, "traced task", uint64(j))
		shift, scale := 10+r.NormFloat64(), math.Exp(0.3*r.NormFloat64())
		y := 0.0
		for i, u := range x {
			y += math.Cos(3*(u-0.2-0.6*float64((j%4+i)%4)/3-0.05*r.NormFloat64())) / float64(1+i)
		}
		return shift + scale*y
	}
	tasks := func(from, k, n int) []cmbo.Task {
		out := make([]cmbo.Task, k)
		for j := range out {
			r := rng.Stream(6, "traced points", uint64(from+j))
			out[j].ID = fmt.Sprint("task ", from+j)
			for range n {
				x := []float64{r.Float64(), r.Float64(), r.Float64()}
				out[j].X = append(out[j].X, x)
				out[j].Y = append(out[j].Y, kind(from+j, x)+0.02*r.NormFloat64())
			}
		}
		return out
	}
	target := func(x []float64) float64 { return kind(1001, x) }
	failing := func(x []float64) float64 {
		if x[0]+x[1] > 1.1 {
			return math.NaN()
		}
		return target(x)
	}
	few := tasks(0, 10, 12)
	small := []cmbo.LearnOption{cmbo.WithIndexPoints(60)}
	crashed := tasks(20, 8, 14)
	noisy := tasks(40, 8, 12)
	for j := range crashed {
		c := &crashed[j]
		var x [][]float64
		var y []float64
		for i, p := range c.X {
			if math.IsNaN(failing(p)) {
				c.Failed = append(c.Failed, p)
			} else {
				x, y = append(x, p), append(y, c.Y[i])
			}
		}
		c.X, c.Y = x, y
		for i := range noisy[j].Y {
			noisy[j].NoiseVariance = append(noisy[j].NoiseVariance, 0.01*float64(i%3))
		}
	}
	many := learn(t, box, tasks(0, 90, 20), cmbo.WithIndexPoints(150))
	plain := learn(t, list, few, small...)
	var file bytes.Buffer
	require.NoError(t, plain.Encode(&file))
	decoded := decodePrior(t, &file)
	var once int
	return []defaultProblem{
		{name: "list, 90 tasks", space: list, prior: many, steps: 14, batch: 1, f: target},
		{name: "box, 90 tasks", space: box, prior: many, steps: 14, batch: 1, f: target},
		{name: "box, pending points", space: box, prior: many, steps: 6, batch: 3, f: target},
		{name: "list, pending points", space: list, prior: plain, steps: 6, batch: 3, f: target},
		{name: "box, failures", space: box, prior: learn(t, box, crashed, small...), steps: 14, batch: 1, f: failing},
		{name: "list, failures of the run alone", space: list, prior: plain, steps: 7, batch: 2, f: failing},
		{name: "list, noise given", space: list, prior: learn(t, list, noisy, small...), steps: 14, batch: 1, f: target,
			noise: func(i int) float64 { return 0.02 * float64(i%3) }},
		{name: "list, unlike the past", space: list, prior: decoded, steps: 20, batch: 1,
			f: func(x []float64) float64 { return 1e6 * math.Sin(13*x[0]) * math.Cos(11*x[1]+5*x[2]) }},
		{name: "list, past upside down", space: list, prior: plain, steps: 14, batch: 1, f: func(x []float64) float64 { return 5 - 3*target(x) }},
		{name: "box, noise fixed, a penalty", space: box, prior: learn(t, box, few, append(small, cmbo.WithMinimize())...), steps: 12, batch: 1,
			f: func(x []float64) float64 {
				if once++; once == 4 {
					return 1e9
				}
				return target(x)
			}, options: []cmbo.Option{cmbo.WithMinimize(), cmbo.WithNoiseVariance(1e-3)}},
	}
}
