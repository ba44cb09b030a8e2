package cmbo

import (
	"context"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/replay"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/linalg"
)

// TestOutlookInWords has each sentence, and the numbers at which another takes its place.
func TestOutlookInWords(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	known := Outlook{Next: nan, Expected: 1, Most: 2, Gained: 3, Feasible: 0.5, Cost: nan, PerCost: nan, Left: inf}
	gain := "the next evaluation is expected to gain 1, and none is likely to gain more than 2; 3 was gained since the first"
	with := func(u Outlook, change func(u *Outlook)) Outlook { change(&u); return u }
	for _, tt := range []struct {
		u    Outlook
		want string
	}{
		{known, gain},
		{Outlook{Expected: nan, Gained: nan, Feasible: 0.25, Left: inf}, "no value holds the limits yet; the likeliest to hold them does so with a probability of 0.25"},
		{Outlook{Expected: nan, Gained: nan, Left: inf}, "no value holds the limits yet, and no candidate may be proposed"},
		{Outlook{Expected: nan, Gained: nan, Holds: map[string]float64{"seconds": 0}, Left: inf},
			"no value holds the limits yet; the likeliest to hold them does so with a probability of 0.00; seconds holds its limits with a probability of at most 0.00"},
		{Outlook{Expected: nan, Feasible: 0.25, Left: inf}, "what more evaluations would bring is not known yet"},
		{Outlook{Expected: nan, Gained: nan, Feasible: 1, Left: inf}, "what more evaluations would bring is not known yet"},
		{with(known, func(u *Outlook) { u.Next, u.Most = 0.5, 1 }), "the next evaluation is expected to gain 1, of which its latest forecasts bear out 0.5, and none is likely to gain more; 3 was gained since the first"},
		{with(known, func(u *Outlook) { u.Cost, u.PerCost, u.Spent = 4, 5, 6 }), gain},
		{with(known, func(u *Outlook) { u.Spent, u.priced = 6, true }), gain + "; 6 is spent"},
		{with(known, func(u *Outlook) { u.Cost, u.PerCost, u.Spent, u.Left, u.priced = 4, 5, 6, 2, true }),
			gain + "; it is expected to cost 4, and the most for its cost gains 5 a unit; 6 of the budget of 8 is spent"},
		{with(known, func(u *Outlook) { u.Spent, u.Left, u.priced = 6, 0, true }), gain + "; the budget is spent: 6 of 6"},
		{with(known, func(u *Outlook) { u.Spent, u.Left, u.priced = 6, -2, true }), gain + "; the budget is spent: 6 of 4"},
		{with(known, func(u *Outlook) { u.Next, u.Expected, u.Most, u.Gained = 0, 0, 0, 3826.4 }),
			"no evaluation is expected to gain more; 3830 was gained since the first"},
		{with(known, func(u *Outlook) {
			u.Expected, u.Most, u.Next, u.Cost, u.PerCost, u.Spent, u.Left, u.priced = 1830, 25270, 1234.5, 15234, 1001.4, 123456, 0, true
		}), "the next evaluation is expected to gain 1830, of which its latest forecasts bear out 1230, and none is likely to gain more than 25300; " +
			"3 was gained since the first; it is expected to cost 15200, and the most for its cost gains 1000 a unit; the budget is spent: 123500 of 123500"},
	} {
		require.Equal(t, tt.want, tt.u.String())
	}
}

// Until the values that hold the limits have a scale, nothing is said of improvements, and they
// are not denied.
func TestOutlookBeforeScale(t *testing.T) {
	s := unitCube(t, 1)
	o := optimizerOf(t, s, WithOutput("seconds", AtMost(5)))
	for i, want := range []string{
		"what more evaluations would bring is not known yet",
		"no value holds the limits yet; the likeliest to hold them does so with a probability of 0.",
		"what more evaluations would bring is not known yet; seconds holds its limits with a probability of at most ",
	} {
		require.NoError(t, o.Observe([]float64{float64(i) / 4}, 3, Outputs{"seconds": float64(8 - i - i*i)}))
		u := outlookOf(t, o)
		require.Contains(t, u.String(), want)
	}
}

// TestVerdictOnAPastOfNoise: noise explains any values, so that a past that looks like it helps only if it ranks them, too,
// and misleads nobody.
func TestVerdictOnAPastOfNoise(t *testing.T) {
	y := []float64{1, 2, 3, 4, 5}
	for _, c := range []struct {
		mass, reversed, agreement float64
		silent                    bool
		want                      Verdict
	}{
		{0.95, 0, 0, false, TransferHelps}, {0.95, 0, 2, true, TransferHelps}, {0.95, 0, 1.9, true, TransferUnclear},
		{0.1, 0, 0.9, false, TransferMisleads}, {0.1, 0, 0, true, TransferUnclear}, {0.1, 0, 1, false, TransferUnclear},
		{0.9, 0.8, 0.9, false, TransferReversed}, {0.9, 0.8, 0, true, TransferUnclear}, {0.9, 0.8, 1, false, TransferUnclear},
	} {
		of := []Hypothesis{{Level: LevelPopulation, Mass: c.mass, Reversed: c.reversed}, {Level: LevelNone, Mass: 1 - c.mass}}
		require.Equal(t, c.want, Transfer{Values: 5, silent: c.silent, agreement: c.agreement, Hypotheses: of}.verdict(y), "%+v", c)
	}
}

// TestTransferInWords: the largest share of the past is named, not that of no transfer, and
// each verdict has its numbers.
func TestTransferInWords(t *testing.T) {
	shares := func(none, population, reversed, task float64) []Hypothesis {
		return []Hypothesis{
			{Level: LevelNone, Mass: none, Reversed: none / 2}, {Level: LevelPopulation, Mass: population, Reversed: reversed}, {Level: LevelCluster, Tasks: []string{"a"}, Mass: task},
		}
	}
	for _, tt := range []struct {
		of   Transfer
		want string
	}{
		{Transfer{Verdict: TransferHelps, Hypotheses: shares(0.05, 0.70, 0, 0.25)}, "transfer helps: 95 % of the mass lies on the past, 70 % on what all tasks have in common"},
		{Transfer{Verdict: TransferHelps, Hypotheses: shares(0.01, 0.98, 0.07, 0.01)}, "transfer helps: 92 % of the mass lies on the past, 91 % on what all tasks have in common"},
		{Transfer{Verdict: TransferUnclear, silent: true, Hypotheses: shares(0.80, 0.15, 0.10, 0.05)}, "unclear: past tasks show nothing of where values are good, 10 % of the mass lies on the past, 80 % says that no past task is like this one, 10 % that what was good there is bad here"},
		{Transfer{Verdict: TransferMisleads, Hypotheses: shares(0.80, 0.15, 0.10, 0.05)}, "the past misleads: 80 % of the mass says that no past task is like this one, 10 % that what was good there is bad here"},
		{Transfer{Verdict: TransferMisleads, Hypotheses: shares(0.15, 0.80, 0.74, 0.05)}, "the past misleads: 74 % of the mass says that what was good there is bad here, 15 % that no past task is like this one"},
		{Transfer{Verdict: TransferReversed, Hypotheses: shares(0.15, 0.80, 0.75, 0.05)}, "the past is upside down: 75 % of the mass says that what was good there is bad here, and the run goes by that"},
		{Transfer{Verdict: TransferMisleads, Hypotheses: shares(0.5, 0.5, 0.5, 0)}, "the past misleads: 50 % of the mass says that no past task is like this one, 50 % that what was good there is bad here"},
		{Transfer{Verdict: TransferUnclear, Hypotheses: shares(0.5, 0.5, 0.25, 0)}, "unclear: the past ranks the points told as their values do, but 75 % of the mass says that their differences are not the past's"},
		{Transfer{Verdict: TransferUnclear, Hypotheses: shares(0.4, 0.6, 0.25, 0)}, "unclear: 35 % of the mass lies on the past, 40 % says that no past task is like this one, 25 % that what was good there is bad here"},
		{Transfer{Verdict: TransferUnclear, sooner: true, Hypotheses: shares(0.80, 0.15, 0.10, 0.05)},
			"unclear: the run came to good values sooner than chance does, and less of it failed than would at random, given where past " +
				"evaluations failed, but 80 % of the mass says that no past task is like this one, 10 % that what was good there is bad here"},
		{Transfer{Verdict: TransferTooEarly, Values: 3, Hypotheses: shares(0.5, 0.5, 0, 0)}, "too early to tell whether the past helps: 3 of 5 values"},
		{Transfer{Verdict: TransferTooEarly, Values: 3, OtherUnits: 0.5, Hypotheses: shares(0.5, 0.5, 0, 0)}, "too early to tell whether the past helps: 3 of 5 values"},
		{Transfer{Verdict: TransferTooEarly, Values: 3, OtherUnits: 0.51, Hypotheses: shares(0.5, 0.5, 0, 0)},
			"too early to tell whether the past helps: 3 of 5 values; the values lie out of all proportion to the past's: they may be in other units"},
		{Transfer{Hypotheses: shares(0.5, 0.5, 0, 0)[1:2]}, "unknown: the model does not weigh the past against no transfer; the largest weight is that of what all tasks have in common 50 %"},
	} {
		require.Equal(t, tt.want, tt.of.String())
	}
	of := Transfer{Outputs: map[string]Transfer{"seconds": {Verdict: TransferReversed, Hypotheses: shares(0.15, 0.80, 0.75, 0.05)}}}
	require.Contains(t, of.String(), "; of seconds the past is upside down: 75 % of the mass says that what was large there is small here, and", "no output is good")
}

// TestProspectInWords has the sentence of each advice, with chances large and small.
func TestProspectInWords(t *testing.T) {
	known := Prospect{Trial: 2, Step: 9, Mean: 0.614, SD: 0.021, Best: 0.52, Known: true}
	for _, tt := range []struct {
		chance, before float64
		stop           bool
		want           string
	}{
		{0.001, 0.314, true, "stop: at step 9 the end is expected at 0.614 ± 0.021, and has a chance of 0.1 % to beat 0.52, 31 % without its curve"},
		{1, 0.9951, false, "continue: at step 9 the end is expected at 0.614 ± 0.021, and has a chance of 100 % to beat 0.52, 100 % without its curve"},
		{0.9949, 0, false, "continue: at step 9 the end is expected at 0.614 ± 0.021, and has a chance of 99 % to beat 0.52, 0 % without its curve"},
		{0.99e-6, 1e-290, true, "stop: at step 9 the end is expected at 0.614 ± 0.021, and has a chance of less than 0.0001 % to beat 0.52, less than 0.0001 % without its curve"},
		{1e-6, 0, true, "stop: at step 9 the end is expected at 0.614 ± 0.021, and has a chance of 0.0001 % to beat 0.52, 0 % without its curve"},
	} {
		p := known
		p.Chance, p.Before, p.Stop = tt.chance, tt.before, tt.stop
		require.Equal(t, tt.want, p.String())
	}
	for _, tt := range []struct {
		of   Prospect
		want string
	}{
		{Prospect{Trial: 2, Step: 9, Diverged: true, Stop: true}, "stop: the value of step 9 is no number, and trial 2 has failed"},
		{Prospect{Trial: 2, Step: 9, Best: math.NaN()}, "continue: at step 9 there is no value to beat"},
		{Prospect{Trial: 2, Step: 9, Curves: 3}, "continue: 3 curves of this run passed step 9, too few to tell its end from it"},
		{Prospect{Trial: 2, Step: 9, Curves: 1}, "continue: 1 curve of this run passed step 9, too few to tell its end from it"},
	} {
		require.Equal(t, tt.want, tt.of.String())
	}
}

// weighing is a mixture of two hypotheses in which the past has no mass upright.
type weighing struct {
	Surrogate
	mean []float64
}

func (w weighing) Hypotheses() []Hypothesis {
	return []Hypothesis{{Level: LevelPopulation, Mass: 0.25}, {Level: LevelNone, Mass: 0.75}}
}
func (w weighing) PriorMean() []float64 { return w.mean }
func (w weighing) TaskMeans(context.Context, *linalg.Dense) ([]string, [][]float64, error) {
	return []string{"reversed", "with chance", "against chance", "alike"}, [][]float64{{5, 4, 3, 2, 1}, {5, 1, 4, 3, 2}, {5, 3, 1, 4, 2}, {1, 2, 3, 4, 5}}, nil
}

// TestRanked: how tasks rank a record at the points that did not fail, by correlations of normal scores times the
// root of the number of values but one.
func TestRanked(t *testing.T) {
	list, err := Candidates([][]float64{{0}, {0.1}, {0.2}, {0.3}, {0.4}, {0.5}})
	require.NoError(t, err)
	rec := &replay.Record{Space: list, Y: []float64{1, math.NaN(), 2, 3, 4, 50}}
	for minimize, sign := range map[bool]float64{false: 1, true: -1} {
		got, err := ranked(t.Context(), weighing{}, rec, minimize)
		require.NoError(t, err)
		require.Len(t, got, 4)
		require.InDelta(t, -2*sign, got["reversed"], 1e-12)
		require.InDelta(t, 2*sign, got["alike"], 1e-12)
		require.Positive(t, -sign*got["against chance"])
	}
	require.Zero(t, ranks([]float64{10, 20, 30, 80}, []float64{5, 5, 5, 5}), "one that ranks none")
}

// A report of learning says what the tasks have in common, and not that of tasks that nobody asked.
func TestLearnReportInWords(t *testing.T) {
	require.Equal(t, "in common to all tasks: 62 % of the variance of their values", LearnReport{Common: 0.62, Shrinkage: 0.48}.String())
	require.Equal(t, "in common to all tasks: 62 % of the variance of their values; learned from as smooth functions",
		LearnReport{Common: 0.62, Smooth: true}.String(), "whoever chose the kernel")
	require.Equal(t, "in common to all tasks: 62 % of the variance of their values; logarithms of the values, by their likelihood",
		LearnReport{Common: 0.62, Logarithms: true}.String())
	require.Equal(t, "what the tasks have in common was not estimated", LearnReport{}.String())
	require.Equal(t, "no descriptor is shown to be of use", Relation{}.String())
}

// TestRanksOutweighMasses: a past of little mass does not mislead if its mean ranks
// five points by more than a deviation of chance, half of what the same order has, in whichever unit.
func TestRanksOutweighMasses(t *testing.T) {
	for _, tt := range []struct {
		mean []float64
		want Verdict
	}{
		{[]float64{1, 2, 3, 4, 5}, TransferUnclear},
		{[]float64{-100, -30, -60, -20, -40}, TransferUnclear}, // .53
		{[]float64{1, 5, 2, 3, 4}, TransferMisleads},           // .43
		{[]float64{5, 4, 3, 2, 1}, TransferMisleads},
	} {
		got, err := consulted{Surrogate: weighing{mean: tt.mean}}.transfer([]float64{1, 2, 3, 4, 50}, nil)
		require.NoError(t, err)
		require.Equal(t, tt.want, got.Verdict, tt.mean)
		require.Equal(t, LevelNone, got.Hypotheses[0].Level, "the largest mass is the first")
	}
}

// TestNoVerdictOnEqualValues: values that are all equal say nothing of a past, whatever its mass.
func TestNoVerdictOnEqualValues(t *testing.T) {
	m := consulted{Surrogate: weighing{mean: []float64{1, 2, 3, 4, 5}}}
	got, err := m.transfer([]float64{7, 7, 7, 7, 7}, nil)
	require.NoError(t, err)
	require.Equal(t, TransferTooEarly, got.Verdict)
	require.Equal(t, "too early to tell whether the past helps: all of 5 values are equal", got.String())
	got, err = m.transfer([]float64{7, 7, 7, 7, 7.1}, nil)
	require.NoError(t, err)
	require.NotEqual(t, TransferTooEarly, got.Verdict)
}

// TestFewerFailures: ten failures that are expected among a hundred have a deviation of 3, one among ten of .95, ten among
// twenty of 2.2.
func TestFewerFailures(t *testing.T) {
	for _, c := range []struct {
		failed, n int
		failing   float64
		want      bool
	}{
		{0, 10, 0.1, true}, {0, 10, 0.09, false}, {6, 100, 0.1, true}, {7, 100, 0.1, false}, {7, 20, 0.5, true}, {8, 20, 0.5, false},
		{0, 20, 0, false}, {19, 20, 1, true}, {20, 20, 1, false},
	} {
		require.Equal(t, c.want, fewer(c.failed, c.n, c.failing), "%+v", c)
	}
}

// TestRegretsOfChance: of three values, whose points are nearest to two, two and one points of a
// space, one of these as near to the third value's, the expected regret of draws is that of all
// sequences of three.
func TestRegretsOfChance(t *testing.T) {
	x, space := linalg.NewDense(3, 1, []float64{0, 1, 0.5}), linalg.NewDense(5, 1, []float64{0.25, 0.9, 0, 0.6, 1})
	y := []float64{2, -1, 7}
	value := []float64{2, -1, 2, 7, -1}
	var want float64
	for i := range value {
		for j := range value {
			for k := range value {
				want += (7 - value[i]) + (7 - max(value[i], value[j])) + (7 - max(value[i], value[j], value[k]))
			}
		}
	}
	regret, random := regrets(x, y, make([]int, 3), space, nil)
	require.Equal(t, 5.0+5+0, regret)
	require.InDelta(t, want/125, random, 1e-12)

	// One evaluation failed before the second value: of four draws, each fails or succeeds.
	succeeds := []float64{0.5, 1, 0.2, 0.7, 0}
	want = 0
	var draw func(left int, chance, best, sum float64)
	draw = func(left int, chance, best, sum float64) {
		if left == 0 {
			want += chance * sum
			return
		}
		for i, p := range succeeds {
			after := max(best, value[i])
			draw(left-1, chance*p/5, after, sum+7-after)
			draw(left-1, chance*(1-p)/5, best, sum+7-best)
		}
	}
	draw(4, 1, -1, 0)
	regret, random = regrets(x, y, []int{0, 1, 0}, space, succeeds)
	require.Equal(t, 5.0+5+5+0, regret)
	require.InDelta(t, want, random, 1e-12)
	regret, _ = regrets(x, y, []int{2, 0, 0}, space, succeeds)
	require.Equal(t, 8.0+8+5+5+0, regret)
}

// TestBinomialTail adds up Pascal's triangle.
func TestBinomialTail(t *testing.T) {
	for _, p := range []float64{0.1, 0.3, 0.9} {
		row := []float64{1} // probabilities of 0 to n successes
		for n := range 12 {
			var want float64
			for k, v := range row {
				want += v
				require.InDelta(t, want, binomialTail(n, k, p), 1e-12, "%d of %d", k, n)
			}
			next := make([]float64, n+2)
			for k, v := range row {
				next[k] += v * (1 - p)
				next[k+1] += v * p
			}
			row = next
		}
	}
}

// TestForecastsAreSummedUp: the coverage and the score are means.
func TestForecastsAreSummedUp(t *testing.T) {
	in, out := Forecast{Y: 1, Mean: 1, SD: 1}, Forecast{Y: 4, Mean: 1, SD: 1}
	c := calibrationOf([]Forecast{in, out, in, in})
	require.Equal(t, 0.75, c.Coverage)
	require.InDelta(t, -9.0/8-math.Log(2*math.Pi)/2, c.LogScore, 1e-12)
	require.Equal(t, 1.0, calibrationOf([]Forecast{in}).Coverage)
}

// TestNoForecasts: of none there is neither a coverage nor a score.
func TestNoForecasts(t *testing.T) {
	c := calibrationOf(nil)
	require.True(t, math.IsNaN(c.Coverage) && math.IsNaN(c.LogScore))
}

// TestScoresAreNotCompressed: scores by rank hold no differences of values, in a run either.
func TestScoresAreNotCompressed(t *testing.T) {
	box := unitCube(t, 3)
	for y := ZScore; y.valid(); y++ {
		c := &learnConfig{sharedConfig: sharedConfig{y: y}}
		o := hierarchySettings(c, box, false)
		require.Equal(t, []bool{y != Copula, y == Copula}, []bool{o.Compress, o.Ranks})
	}
}

// TestLearnScales: an offset and a scale bring what a policy made of a task's values, and of their noise variances, back to
// what a run has: values with large ones good and low ones compressed, or scores by rank, which are values themselves.
func TestLearnScales(t *testing.T) {
	s := unitCube(t, 1)
	k := &Task{ID: "a", X: [][]float64{{0}, {0.1}, {0.3}, {0.4}, {0.8}, {1}}, NoiseVariance: []float64{0.1, 0.2, 0.1, 0.3, 0.1, 0.4}}
	for _, k.Y = range [][]float64{{3, 1, -40, 1.5, 9, 2.6}, {7, 7, 7, 7, 7, 7}} {
		for y := ZScore; y.valid(); y++ {
			for _, minimize := range []bool{false, true} {
				c := &learnConfig{sharedConfig: sharedConfig{y: y, minimize: minimize}}
				task := c.scaled(s, k)
				want, noise := scaling.CompressLow(c.sense().Apply(k.Y, k.NoiseVariance))
				if y == Copula {
					want, noise = y.Apply(want), task.Noise
				}
				for i, z := range task.Z {
					require.InDelta(t, want[i], task.Shift+task.Scale*z, 1e-12, "%v", y)
					if task.Noise != nil {
						require.InDelta(t, noise[i], task.Scale*task.Scale*task.Noise[i], 1e-12, "%v", y)
					}
				}
			}
		}
	}
}

// TestStepsAreCopies: a copy of a step says the same and shares no numbers with it.
func TestStepsAreCopies(t *testing.T) {
	lists := func(s *Step) (out [][]float64) {
		for v := reflect.ValueOf(s).Elem(); len(out) < v.NumField(); {
			list, _ := v.Field(len(out)).Interface().([]float64)
			out = append(out, list)
		}
		return append(out, s.Candidates[0], s.Holds["a"])
	}
	full := func() *Step {
		s := &Step{Trial: 3, Candidates: [][]float64{{1}}, Holds: map[string][]float64{"a": {1}}}
		for v, i := reflect.ValueOf(s).Elem(), 0; i < v.NumField(); i++ {
			if list, ok := v.Field(i).Addr().Interface().(*[]float64); ok {
				*list = []float64{1}
			}
		}
		return s
	}
	s := full()
	c := s.clone()
	require.Equal(t, *s, c)
	for _, list := range lists(&c) {
		clear(list)
	}
	require.Equal(t, full(), s)
}

// TestExplanationInWords: a zero one has words, and a success that is certain is no news.
func TestExplanationInWords(t *testing.T) {
	require.Contains(t, Explanation{}.String(), ": largest score; expected 0")
	e := Explanation{Mean: math.NaN(), acquisition: "EI", proposable: 2, Step: Step{Chosen: 1, Scores: []float64{1, 2}}}
	for _, tt := range []struct {
		success float64
		want    string
	}{{0.9949, ", times a power of a probability of success of 0.99"}, {0.995, ""}, {1, ""}} {
		e.Step.Success = []float64{0.2, tt.success}
		_, words, _ := strings.Cut(e.String(), ": ")
		require.Equal(t, "the largest EI (score 2) of 2 candidates"+tt.want, words)
	}
	e.Step = Step{Scores: []float64{38540.2}, Cost: []float64{15234}, CostPower: 1}
	e.proposable, e.larger = 1, 1
	require.Contains(t, e.String(), "behind 1 other by EI (score 38540) of 1 candidate, over an expected cost of 15230 to the power 1.00")
}

// TestQuantilesInWords: rounded, the ends of an interval do not pass its median, however near they lie to it.
func TestQuantilesInWords(t *testing.T) {
	require.Equal(t, "0.10755 (90 % in 0.10753 to 0.10757)", Quantiles{Low: 0.10753, Median: 0.10755252, High: 0.10757}.String())
	require.Equal(t, "0.1076 (90 % in 0.1074 to 0.1076)", Quantiles{Low: 0.10738, Median: 0.10755252, High: 0.10764}.String())
	require.Equal(t, "12.43 (90 % in 9.107 to 17.02)", Quantiles{Low: 9.107, Median: 12.43, High: 17.02}.String())
}

// TestDigitsInWords: of values that are large beside their differences, as money or bytes, a reader sees the differences.
func TestDigitsInWords(t *testing.T) {
	require.Equal(t, "1000000003 (90 % in 1000000001 to 1000000006)", Quantiles{1e9 + 1.04, 1e9 + 3.21, 1e9 + 5.9}.String())
	for _, tt := range []struct {
		v, d float64
		want string
	}{
		{1234.5678, 1.3, "1235"}, {1234.5678, 1.2, "1234.6"}, {123456.78, 1.2, "123456.8"}, {-1e9 - 12, 100, "-1.00000001e+09"}, {0, 1e-9, "0"},
		{1e9 + 1, 1e9, "1e+09"}, {1e9 + 1, 0, "1e+09"}, {1e9 + 1, 1e-9, "1e+09"}, {1e9 + 1, math.NaN(), "1e+09"}, {1e9 + 1, math.Inf(1), "1e+09"},
	} {
		require.Equal(t, tt.want, number(tt.v, digits(tt.v, tt.d)), "%+v", tt)
	}
	for want, v := range map[string]float64{
		"150": 150, "15200": 15234, "1": 0.9999, "0.999": 0.9994, "-3830": -3826.3, "0.00012": 1.2e-4, "1.2e-05": 1.2e-5, "0": 0, "NaN": math.NaN(),
		"10000000": 9.999e6, "1.01e+07": 1.01e7, "-Inf": math.Inf(-1),
	} {
		require.Equal(t, want, number(v, 3))
	}
	require.Equal(t, "15230 (90 % in 9123 to 1.702e+07)", Quantiles{Low: 9123.4, Median: 15234, High: 17023456}.String())
	require.Contains(t, Recommendation{X: []float64{}, Mean: 5551.2, SD: 153}.String(), "5551 ± 150;")
	require.Contains(t, Explanation{Mean: 15234, SD: 1634, Transfer: Transfer{Values: 1}}.String(), "expected 15230 ± 1600")
	e := Explanation{Mean: 1e9 + 3, SD: 1.9, Transfer: Transfer{Values: 1}}
	require.Contains(t, e.String(), "expected 1000000003 ± 1.9")
	e.Transfer.Values, e.Quantiles = 0, Quantiles{1e9 + 1, 1e9 + 3, 1e9 + 5}
	require.Contains(t, e.String(), "expected 1000000003")
	require.Contains(t, Recommendation{X: []float64{}, Mean: 1e9 + 3, SD: 1.9}.String(), "1000000003 ± 1.9;")
	require.Contains(t, Prospect{Mean: 1e9 + 3, SD: 1.9, Best: 1e9 + 2, Known: true}.String(),
		"expected at 1000000003 ± 1.9, and has a chance of 0 % to beat 1000000002,")
}

// TestNoiseInWords: much noise is told whether or not it was asked what tasks have in common.
func TestNoiseInWords(t *testing.T) {
	require.Equal(t, "what the tasks have in common was not estimated", LearnReport{Noise: 0.5}.String())
	require.Equal(t, "what the tasks have in common was not estimated; 90 % of the variance of their values follow no parameter: noise, or values beside the wrong points",
		LearnReport{Noise: 0.9}.String())
	require.Equal(t, "in common to all tasks: 8 % of the variance of their values; 90 % follow no parameter: noise, or values beside the wrong points",
		LearnReport{Common: 0.08, Noise: 0.9}.String())
}

// TestFormatsOfChangelog: who reads which stored files a commit reads finds the numbers that the code has.
func TestFormatsOfChangelog(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	require.NoError(t, err)
	require.Contains(t, strings.Join(strings.Fields(string(text)), " "),
		fmt.Sprintf("encoded priors %d, encoded learners %d,", priorVersion, learnerVersion))
}
