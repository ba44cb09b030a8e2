package cmbo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"strconv"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// TestSpaceRefusesWhatCannotBeStored: names and choices must survive JSON, and
// logarithms of bounds must differ.
func TestSpaceRefusesWhatCannotBeStored(t *testing.T) {
	for name, p := range map[string]cmbo.Param{
		"name":   cmbo.Float("\xff", 0, 1),
		"choice": cmbo.Categorical("c", "ok", "\xfe"),
		"log":    cmbo.LogFloat("a", 1e-5, math.Nextafter(1e-5, 1)),
	} {
		_, err := cmbo.NewSpace(p)
		require.ErrorIs(t, err, cmbo.ErrSpace, name)
	}
	if one := 1; strconv.IntSize == 64 {
		_, err := cmbo.NewSpace(cmbo.LogInt("a", one<<53-1, one<<53))
		require.ErrorIs(t, err, cmbo.ErrSpace)
	}
	s := newSpace(t, cmbo.LogInt("a", 7, 7), cmbo.Float("ü", 0, 1))
	x, err := s.Encode([]float64{7, 0.5})
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0.5}, x)
}

// TestSpaceNeverChanges: a space in use cannot be read over, and one that
// nobody made is refused.
func TestSpaceNeverChanges(t *testing.T) {
	s := newSpace(t, cmbo.Float("a", 0, 1), cmbo.Float("b", 0, 1))
	other := newSpace(t, cmbo.Int("c", 1, 3))
	b, err := json.Marshal(other)
	require.NoError(t, err)
	require.ErrorIs(t, json.Unmarshal(b, s), cmbo.ErrSpace)
	require.Len(t, s.Params(), 2)

	_, err = cmbo.New(&cmbo.Space{})
	require.ErrorIs(t, err, cmbo.ErrSpace)
	_, err = cmbo.Learn(ctx, &cmbo.Space{}, family(2, 5))
	require.ErrorIs(t, err, cmbo.ErrSpace)
	_, err = cmbo.New(s, cmbo.WithPrior(&cmbo.Prior{}))
	require.ErrorIs(t, err, cmbo.ErrOption)
}

// TestHugeNoiseSaysNothing: a measurement whose variance overflows in scaled
// units is heard of no further, and the run goes on.
func TestHugeNoiseSaysNothing(t *testing.T) {
	space, rows := grid(t, 5)
	for name, opts := range map[string][]cmbo.Option{"plain": nil, "prior": {cmbo.WithPrior(learn(t, space, family(3, 10)))}} {
		o := newOptimizer(t, space, opts...)
		for k := range 8 {
			require.NoError(t, o.Observe(rows[k], 1e-80*float64(k), cmbo.WithNoise(1e150)))
		}
		_, err := o.Ask(ctx)
		require.NoError(t, err, name)
		err = o.Observe(rows[9], 0, cmbo.WithNoise(1e151))
		require.ErrorIs(t, err, cmbo.ErrValue)
		require.ErrorContains(t, err, "1e+150")
	}
	tasks := family(2, 6)
	for i := range tasks {
		tasks[i].NoiseVariance = []float64{1e150, 1e150, 1e150, 1e150, 1e150, 1e150}
		for j := range tasks[i].Y {
			tasks[i].Y[j] *= 1e-80
		}
	}
	learn(t, space, tasks)
}

// TestRestoreRefusesOptions: whatever the snapshot says cannot be said again,
// zero values and defaults included.
func TestRestoreRefusesOptions(t *testing.T) {
	space, _ := grid(t, 4)
	prior := learn(t, space, family(3, 10))
	var b bytes.Buffer
	require.NoError(t, newOptimizer(t, space, cmbo.WithPrior(prior)).Snapshot(&b))
	for name, o := range map[string]cmbo.Option{
		"seed 0": cmbo.WithSeed(0), "seed": cmbo.WithSeed(1), "y": cmbo.WithYPolicy(cmbo.ZScore), "other y": cmbo.WithYPolicy(cmbo.MinMax),
		"acquisition": cmbo.WithAcquisition(cmbo.UCB(0)), "other acquisition": cmbo.WithAcquisition(cmbo.EI()),
		"initial": cmbo.WithInitial(0), "other initial": cmbo.WithInitial(5), "noise": cmbo.WithNoiseVariance(1),
		"candidates": cmbo.WithCandidateCounts(100, 0), "minimize": cmbo.WithMinimize(),
	} {
		_, err := cmbo.Restore(bytes.NewReader(b.Bytes()), cmbo.WithPrior(prior), o)
		require.ErrorIs(t, err, cmbo.ErrOption, name)
	}
	_ = restore(t, bytes.NewReader(b.Bytes()), cmbo.WithPrior(prior), cmbo.WithParallelism(1))
}

// TestNilReaders: what is nil is said to be, and is the caller's.
func TestNilReaders(t *testing.T) {
	space, _ := grid(t, 3)
	prior := learn(t, space, family(2, 5))
	learner, err := cmbo.NewLearner(space)
	require.NoError(t, err)
	for name, do := range map[string]func() error{
		"Snapshot":       func() error { return newOptimizer(t, space).Snapshot(nil) },
		"Restore":        func() error { _, err := cmbo.Restore(nil); return err },
		"RestoreJournal": func() error { _, _, err := cmbo.RestoreJournal(nil); return err },
		"ResumeJournal":  func() error { _, _, err := cmbo.ResumeJournal(nil, space); return err },
		"Encode":         func() error { return prior.Encode(nil) },
		"Decode":         func() error { _, err := cmbo.DecodePrior(nil); return err },
		"Learner.Encode": func() error { return learner.Encode(nil) },
		"DecodeLearner":  func() error { _, err := cmbo.DecodeLearner(space, nil); return err },
	} {
		err := do()
		require.ErrorIs(t, err, cmbo.ErrOption, name)
		require.ErrorContains(t, err, "a nil io.", name)
	}
}

func TestAskNIsBounded(t *testing.T) {
	space, _ := grid(t, 3)
	o := newOptimizer(t, space)
	for _, n := range []int{math.MinInt, 0, 1<<16 + 1, math.MaxInt} {
		_, err := o.AskN(context.Background(), n)
		require.ErrorIs(t, err, cmbo.ErrOption)
	}
}

// logging is a surrogate with numbers to be logged.
type logging struct {
	flat
	count         int
	params, state []float64
	err           error // of the checks
}

func (l logging) State(context.Context) ([]float64, error) { return l.state, nil }
func (l logging) CheckState([]float64) error               { return l.err }
func (l logging) Fitted() (int, []float64)                 { return l.count, l.params }
func (l logging) CheckFitted([]float64) error              { return l.err }

// TestSurrogateNumbersAreChecked: what a surrogate wants logged and a restored run would
// not take fails the Ask, which logs nothing. Anything else can be read again.
func TestSurrogateNumbersAreChecked(t *testing.T) {
	list, _ := grid(t, 4)
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		s    logging
		says string // "" if it is fine
	}{
		{logging{count: -5, params: []float64{1}}, "logging.Fitted: parameters fitted to -5 observations"},
		{logging{params: []float64{1, nan}}, "logging.Fitted: fitted parameter 1 is NaN"},
		{logging{params: []float64{-inf}}, "logging.Fitted: fitted parameter 0 is -Inf"},
		{logging{params: []float64{1}, err: errors.New("not these")}, "logging.Fitted: not these"},
		{logging{state: []float64{1, nan}}, "logging.State: number 1 of a proposal is NaN"},
		{logging{state: []float64{-inf}}, "logging.State: number 0 of a proposal is -Inf"},
		{logging{state: []float64{1}, err: errors.New("not this")}, "logging.State: not this"},
		{logging{params: []float64{-1e300, 0}, state: []float64{inf, 1}}, ""},
		{logging{count: -1, state: []float64{}, err: errors.New("nothing to check")}, ""},
	} {
		o := newOptimizer(t, list, cmbo.WithSurrogate(tt.s), cmbo.WithInitial(0))
		before := snapshot(t, o)
		_, err := o.Ask(ctx)
		if tt.says != "" {
			require.ErrorIs(t, err, cmbo.ErrNumerical)
			require.ErrorContains(t, err, tt.says)
			require.Equal(t, before, snapshot(t, o))
			continue
		}
		require.NoError(t, err)
		again := restored(t, o, cmbo.WithSurrogate(tt.s))
		require.Equal(t, snapshot(t, o), snapshot(t, again))
	}
}

// TestDesignExhausted: a range of two numbers has a design of no more.
func TestDesignExhausted(t *testing.T) {
	s := newSpace(t, cmbo.Float("x", 1, math.Nextafter(1, 2)))
	o := newOptimizer(t, s, cmbo.WithInitial(5))
	for range 2 {
		trial := ask(t, o)
		require.NoError(t, o.TellFailed(trial.ID))
	}
	_, err := o.Ask(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoCandidates)
	require.ErrorContains(t, err, "none of 2000 points of the initial design may be proposed")
}

// TestNilContext: a context that is nil is said to be, by every call that takes one, and is the caller's
// mistake; so are values that nothing made, and a nil function to read tasks.
func TestNilContext(t *testing.T) {
	space, rows := grid(t, 3)
	tasks := family(5, 6)
	prior := learn(t, space, tasks)
	learner, err := cmbo.NewLearner(space)
	require.NoError(t, err)
	o := newOptimizer(t, space, cmbo.WithPrior(prior))
	require.NoError(t, o.Observe(rows[0], 1))
	trial := ask(t, o)
	var none context.Context
	before := snapshot(t, o)
	const noContext = "a nil context.Context"
	zero, unmade := new(cmbo.Prior), new(cmbo.Learner)
	read := func() iter.Seq2[cmbo.Task, error] { return func(func(cmbo.Task, error) bool) {} }
	for name, c := range map[string]struct {
		do   func() error
		says string
	}{
		"Ask":         {func() error { _, err := o.Ask(none); return err }, noContext},
		"AskN":        {func() error { _, err := o.AskN(none, 2); return err }, noContext},
		"Explain":     {func() error { _, err := o.Explain(none, trial.ID); return err }, noContext},
		"Outlook":     {func() error { _, err := o.Outlook(none); return err }, noContext},
		"Calibration": {func() error { _, err := o.Calibration(none); return err }, noContext},
		"Importance":  {func() error { _, err := o.Importance(none); return err }, noContext},
		"Transfer":    {func() error { _, err := o.Transfer(none); return err }, noContext},
		"Predict":     {func() error { _, _, err := o.Predict(none, rows[0]); return err }, noContext},
		"Quantiles":   {func() error { _, err := o.Quantiles(none, rows[0]); return err }, noContext},
		"Weights":     {func() error { _, err := o.Weights(none); return err }, noContext},
		"Recommend":   {func() error { _, err := o.Recommend(none); return err }, noContext},
		"Report":      {func() error { _, err := o.Report(none, trial.ID, 1, 2); return err }, noContext},
		"Cutoff":      {func() error { _, _, err := o.Cutoff(none, trial.ID, 2); return err }, noContext},
		"TellStopped": {func() error { return o.TellStopped(none, trial.ID) }, noContext},
		"Learn":       {func() error { _, err := cmbo.Learn(none, space, tasks); return err }, noContext},
		"LearnFrom":   {func() error { _, err := cmbo.LearnFrom(none, space, read); return err }, noContext},
		"Check":       {func() error { _, err := cmbo.Check(none, space, tasks); return err }, noContext},
		"EndPass":     {func() error { _, err := learner.EndPass(none); return err }, noContext},
		"Prior":       {func() error { _, err := learner.Prior(none); return err }, noContext},
		"Reindex":     {func() error { _, err := prior.Reindex(none, space); return err }, noContext},
		"Relation":    {func() error { _, err := prior.Relation(none); return err }, noContext},
		"Adopt":       {func() error { _, _, err := prior.Adopt(none, space, cmbo.Changes{}); return err }, noContext},
		"Decode":      {func() error { _, err := cmbo.PriorLimits{}.Decode(none, &bytes.Buffer{}); return err }, noContext},
		"DecodeLearner": {func() error {
			_, err := cmbo.PriorLimits{}.DecodeLearner(none, space, &bytes.Buffer{})
			return err
		}, noContext},

		"LearnFrom nothing": {func() error { _, err := cmbo.LearnFrom(ctx, space, nil); return err }, "a nil function to read tasks"},

		"zero Encode":          {func() error { return zero.Encode(io.Discard) }, "zero Prior"},
		"zero Digest":          {func() error { _, err := zero.Digest(); return err }, "zero Prior"},
		"zero Reindex":         {func() error { _, err := zero.Reindex(ctx, space); return err }, "zero Prior"},
		"zero Relation":        {func() error { _, err := zero.Relation(ctx); return err }, "zero Prior"},
		"zero Adopt":           {func() error { _, _, err := zero.Adopt(ctx, space, cmbo.Changes{}); return err }, "zero Prior"},
		"zero Learner.Encode":  {func() error { return unmade.Encode(io.Discard) }, "zero Learner"},
		"zero Learner.Add":     {func() error { return unmade.Add(tasks[0]) }, "zero Learner"},
		"zero Learner.Merge":   {func() error { return unmade.Merge(learner) }, "zero Learner"},
		"Merge of a zero":      {func() error { return learner.Merge(unmade) }, "zero Learner"},
		"zero Learner.EndPass": {func() error { _, err := unmade.EndPass(ctx); return err }, "zero Learner"},
		"zero Learner.Prior":   {func() error { _, err := unmade.Prior(ctx); return err }, "zero Learner"},
		"nil Learner.Prior":    {func() error { _, err := (*cmbo.Learner)(nil).Prior(ctx); return err }, "zero Learner"},
		"zero Learner.Shard":   {func() error { return unmade.Shard().Add(tasks[0]) }, "zero Learner"},
		"zero Learner.Remove":  {func() error { return unmade.Remove("a") }, "zero Learner"},
		"nil Learner.Shard":    {func() error { return learner.Merge((*cmbo.Learner)(nil).Shard()) }, "zero Learner"},
	} {
		err := c.do()
		require.ErrorIs(t, err, cmbo.ErrOption, name)
		require.ErrorContains(t, err, c.says, name)
	}
	for _, l := range []*cmbo.Learner{unmade, unmade.Shard(), nil} {
		pass, n := l.Pass()
		require.Zero(t, pass)
		require.Zero(t, n)
	}
	require.Equal(t, before, snapshot(t, o))
	for _, p := range []*cmbo.Prior{zero, nil} {
		require.Nil(t, p.Tasks())
		require.Nil(t, p.Space())
		require.Nil(t, p.Outputs())
		require.Zero(t, p.Report())
		require.Zero(t, p.NumTasks())
		require.Zero(t, p.NoiseVariance())
		require.False(t, p.Minimizes() || p.PositiveValues())
	}
}
