// Package twin is what tests compare the service with: an optimiser in the
// test's own process that is told the same things.
package twin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
)

// RNG returns a generator seeded by the name of the test, so that a test sees the same
// numbers whichever tests run beside it.
func RNG(tb testing.TB) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(tb.Name()))
	return rand.New(rand.NewPCG(h.Sum64(), 7))
}

// A Kind is a kind of study: what the service is sent to create one, and the
// same in the library's words.
type Kind struct {
	Name    string
	Study   api.NewStudy // without ID
	Prior   *cmbo.Prior  // nil for none; Study.Prior names it by its digest
	Past    string       // a name for the prior
	Other   *cmbo.Prior  // one that may take its place, learned from fewer tasks; nil for none
	Options []cmbo.Option
}

// Priors returns the priors that a study may run with.
func (k *Kind) Priors() []*cmbo.Prior {
	if k.Prior == nil {
		return nil
	}
	return []*cmbo.Prior{k.Prior, k.Other}
}

// Kinds returns studies without a prior and with one, over parameters and over lists, small
// enough for a proposal to take milliseconds. They are made once and must not be changed.
func Kinds(tb testing.TB) []Kind {
	tb.Helper()
	ks, err := kinds()
	if err != nil {
		tb.Fatal(err)
	}
	return ks
}

var kinds = sync.OnceValues(makeKinds)

func makeKinds() ([]Kind, error) {
	params := []cmbo.Param{cmbo.Float("x", -1, 2), cmbo.LogFloat("rate", 1e-4, 1)}
	space, err := cmbo.NewSpace(params...)
	if err != nil {
		return nil, err
	}
	mixed, err := cmbo.NewSpace(append(params, cmbo.Categorical("kind", "a", "b"), cmbo.Bool("flag"))...)
	if err != nil {
		return nil, err
	}
	few, err := cmbo.NewSpace(cmbo.Int("n", 1, 6), cmbo.Bool("flag"))
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(7, 7))
	var rows [][]float64
	for range 40 {
		rows = append(rows, point(space, rng))
	}
	list, err := space.WithCandidates(rows)
	if err != nil {
		return nil, err
	}
	var tasks []cmbo.Task
	for i := range 4 {
		t := cmbo.Task{ID: fmt.Sprintf("past %d", i)}
		for range 6 {
			x := point(space, rng)
			t.X, t.Y = append(t.X, x), append(t.Y, value(x)+float64(i%2)*x[0])
		}
		tasks = append(tasks, t)
	}
	prior, err := cmbo.Learn(context.Background(), space, tasks, cmbo.WithIndexPoints(20))
	if err != nil {
		return nil, err
	}
	digest, err := prior.Digest()
	if err != nil {
		return nil, err
	}
	other, err := cmbo.Learn(context.Background(), space, tasks[:2], cmbo.WithIndexPoints(20))
	if err != nil {
		return nil, err
	}
	seed, initial, sobol, local := uint64(3), 3, 50, 20
	counts := cmbo.WithCandidateCounts(sobol, local)
	return []Kind{
		{
			Name: "plain",
			Study: api.NewStudy{Space: mixed, Options: api.Options{Seed: &seed, Minimize: true, Acquisition: "EI",
				Initial: &initial, Sobol: &sobol, Local: &local}},
			Options: []cmbo.Option{cmbo.WithSeed(seed), cmbo.WithMinimize(), cmbo.WithAcquisition(cmbo.EI()),
				cmbo.WithInitial(initial), counts},
		},
		{Name: "few", Study: api.NewStudy{Space: few, Options: api.Options{Initial: &initial}},
			Options: []cmbo.Option{cmbo.WithInitial(initial)}},
		{
			Name: "prior", Prior: prior, Past: "past", Other: other,
			Study:   api.NewStudy{Space: space, Prior: digest, Options: api.Options{Sobol: &sobol, Local: &local}},
			Options: []cmbo.Option{cmbo.WithPrior(prior), counts},
		},
		{
			Name: "list", Prior: prior, Past: "past", Other: other,
			Study:   api.NewStudy{Space: list, Prior: digest},
			Options: []cmbo.Option{cmbo.WithPrior(prior)},
		},
	}, nil
}

// point draws a point of a space.
func point(s *cmbo.Space, rng *rand.Rand) []float64 {
	u := make([]float64, s.Dim())
	for i := range u {
		u[i] = rng.Float64()
	}
	x, err := s.Decode(u)
	if err != nil {
		panic(err) // it decodes every point of the unit cube
	}
	return x
}

// value is what is measured.
func value(x []float64) float64 {
	y := 0.0
	for i, v := range x {
		y += math.Sin(float64(i+1)*v) - v*v/10
	}
	return y
}

// An Op is something a client asks of a study.
type Op struct {
	Kind  string // ask, tell, fail, cancel, observe, prior
	N     int    // of trials to ask for; for prior 0 is the kind's first one and 1 the other
	Trial int
	X     []float64
	Y     float64
	Noise float64 // 0 for none
}

// A Twin is an optimiser of a kind of study.
type Twin struct {
	Kind Kind
	Opt  *cmbo.Optimizer
}

// New returns a twin of a new study.
func New(k Kind) (*Twin, error) {
	o, err := cmbo.New(k.Study.Space, k.Options...)
	return &Twin{Kind: k, Opt: o}, err
}

// Trials returns all trials as the service tells them.
func (t *Twin) Trials() (out []api.Trial) {
	told := map[int]cmbo.Observation{}
	for _, o := range t.Opt.Observations() {
		told[o.Trial] = o
	}
	for _, a := range t.Opt.Trials() {
		tr := api.Trial{ID: a.ID, Status: string(a.Status), X: a.X}
		if a.Index >= 0 {
			tr.Index = &a.Index
		}
		if o, ok := told[a.ID]; ok {
			tr.Y, tr.NoiseVariance = &o.Y, o.NoiseVariance
		}
		out = append(out, tr)
	}
	return out
}

// Next returns a random thing to do. Now and then it is something that must be
// refused.
func (t *Twin) Next(rng *rand.Rand) Op {
	var open []int
	for _, tr := range t.Opt.Open() {
		open = append(open, tr.ID)
	}
	x := point(t.Kind.Study.Space, rng)
	op := Op{Trial: rng.IntN(len(t.Opt.Trials())+2) + 1} // often one that is closed or unknown
	if len(open) > 0 && rng.IntN(12) > 0 {
		op.Trial = open[rng.IntN(len(open))]
	}
	if rng.IntN(5) == 0 {
		op.Noise = 0.01 + rng.Float64()
	}
	op.Y = value(x) + rng.NormFloat64()/10
	if rng.IntN(3) == 0 {
		op.Y = math.Round(op.Y) // so that some are equal
	}
	switch r := rng.IntN(100); {
	case len(open) > 8 || len(open) > 0 && r < 50:
		op.Kind = "tell"
	case len(open) > 0 && r < 55:
		op.Kind = "fail"
	case len(open) > 0 && r < 62:
		op.Kind = "cancel"
	case r < 72:
		op.Kind, op.X = "observe", x
	default:
		op.Kind, op.N = "ask", 1+max(0, rng.IntN(6)-3)
	}
	return op
}

// Apply does what op says, and returns the trials it opened.
func (t *Twin) Apply(op Op) ([]api.Trial, error) {
	var noise []cmbo.ObservationOption
	if op.Noise > 0 {
		noise = append(noise, cmbo.WithNoise(op.Noise))
	}
	switch op.Kind {
	case "tell":
		return nil, t.Opt.Tell(op.Trial, op.Y, noise...)
	case "fail":
		return nil, t.Opt.TellFailed(op.Trial)
	case "cancel":
		return nil, t.Opt.Cancel(op.Trial)
	case "observe":
		return nil, t.Opt.Observe(op.X, op.Y, noise...)
	}
	if op.Kind == "prior" {
		var b bytes.Buffer
		if err := t.Opt.Snapshot(&b); err != nil {
			return nil, err
		}
		o, err := cmbo.Restore(&b, cmbo.WithNewPrior(t.Kind.Priors()[op.N]))
		if err == nil {
			t.Opt = o
		}
		return nil, err
	}
	asked, err := t.Opt.AskN(context.Background(), op.N)
	if err != nil {
		return nil, err
	}
	return t.Trials()[asked[0].ID-1:], nil
}

// Diff tells how a study differs from the twin, bit by bit; empty if it does
// not.
func (t *Twin) Diff(trials []api.Trial, best *api.Best, observations int) string {
	if d := DiffTrials(trials, t.Trials()); d != "" {
		return d
	}
	if n := len(t.Opt.Observations()); observations != n {
		return fmt.Sprintf("%d observations, the twin has %d", observations, n)
	}
	want, ok := t.Opt.Best()
	switch {
	case ok != (best != nil):
		return fmt.Sprintf("a best: %v, the twin: %v", best != nil, ok)
	case ok && (best.Y != want.Y || best.Trial != want.Trial || !slices.Equal(best.X, want.X)):
		return fmt.Sprintf("the best is %v, the twin's %v", *best, want)
	}
	return ""
}

// DiffTrials tells how two lists of trials differ; empty if they do not. Values
// by name are not compared.
func DiffTrials(got, want []api.Trial) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d trials, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		g.Config, w.Config = nil, nil
		g.Expected, w.Expected = nil, nil // which the twin does not note
		if !reflect.DeepEqual(g, w) {
			return fmt.Sprintf("trial %d is %v, want %v", i+1, g, w)
		}
	}
	return ""
}

// Code returns the code that the service answers with when the twin fails with
// err, empty for none.
func Code(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, cmbo.ErrUnknownTrial):
		return "unknown_trial"
	case errors.Is(err, cmbo.ErrTrialClosed):
		return "trial_closed"
	case errors.Is(err, cmbo.ErrNoCandidates):
		return "no_candidates"
	}
	return "?"
}

// A Log collects what a service complains about, while it runs.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all of the log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
