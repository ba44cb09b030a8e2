package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A rule says of trials under way whether to stop them; values are losses.
type rule interface {
	// stop is told the value of a trial at a step, counted from 1, and says whether to stop
	// it. Values of one trial come in the order of its steps.
	stop(trial, step int, loss float64) bool
	// ended is told that a trial has run to its end.
	ended(trial int)
}

// medianRule is the median stopping rule of D. Golovin et al., Google Vizier: a service for black-box optimization, KDD
// 2017, section 3.2.2: a trial is stopped at a step if its best value by then is strictly worse than the median, over
// all completed trials, of the mean of what they reported up to that step. The first trial is never stopped.
type medianRule struct {
	under map[int][]float64 // losses of trials under way
	means [][]float64       // of completed trials: running means by step
}

func newMedianRule(int) rule { return &medianRule{under: make(map[int][]float64)} }

func (r *medianRule) stop(trial, step int, loss float64) bool {
	r.under[trial] = append(r.under[trial], loss)
	others := each.Of(r.means, func(m []float64) float64 { return m[min(step, len(m))-1] })
	return slices.Min(r.under[trial]) > stat.Median(others) // NaN of none
}

func (r *medianRule) ended(trial int) {
	var sum float64
	var means []float64
	for i, v := range r.under[trial] {
		sum += v
		means = append(means, sum/float64(i+1))
	}
	r.means = append(r.means, means)
}

// reduction is eta of successive halving, and 4 in the experiments of the paper, whose smallest resource is 1 here.
const reduction = 4

// rungs returns the steps at which asynchronous successive halving compares trials of at
// most so many steps: 1, eta, eta², ... below that.
func rungs(steps int) []int {
	var out []int
	for r := 1; r < steps; r *= reduction {
		out = append(out, r)
	}
	return out
}

// halving is asynchronous successive halving where nothing can be resumed: a trial that comes to a rung goes on if it
// is among the best 1/eta of all that came there so far, itself included, or the best of all as long as these are fewer
// than eta. That is the stopping form of ASHA in Syne Tune and the pruner of Optuna.
type halving struct {
	rungs []int
	seen  map[int][]float64 // losses by rung, sorted
}

func newHalving(steps int) rule { return &halving{rungs(steps), make(map[int][]float64)} }

func (h *halving) stop(_, step int, loss float64) bool {
	if !slices.Contains(h.rungs, step) {
		return false
	}
	all := append(h.seen[step], loss)
	slices.Sort(all)
	h.seen[step] = all
	return loss > all[max(len(all)/reduction, 1)-1]
}

func (h *halving) ended(int) {}

// asha is asynchronous successive halving of L. Li et al., A system for massively parallel hyperparameter tuning, MLSys
// 2020, algorithm 2, for one worker: trials wait at their rungs, and each time one is free the rule looks, from the
// highest rung down, for a trial among the best 1/eta of a rung that was not promoted from there yet, and has it go on
// to the next rung; if there is none a new trial begins.
type asha struct {
	rungs []int
	at    [][]ashaTrial // by rung, in the order of their losses
}

type ashaTrial struct {
	trial    int
	loss     float64
	promoted bool
}

func newASHA(steps int) *asha {
	r := append(rungs(steps), steps)
	return &asha{r, make([][]ashaTrial, len(r))}
}

// next returns the trial to go on with and the step to take it to, -1 for a new one.
func (a *asha) next() (trial, to int) {
	for k := len(a.rungs) - 2; k >= 0; k-- {
		for i := range a.at[k][:len(a.at[k])/reduction] {
			if t := &a.at[k][i]; !t.promoted && !math.IsInf(t.loss, 1) {
				t.promoted = true
				return t.trial, a.rungs[k+1]
			}
		}
	}
	return -1, a.rungs[0]
}

// came is told the loss of a trial at a rung's step, infinite if it diverged on the way.
func (a *asha) came(trial, step int, loss float64) {
	k := slices.Index(a.rungs, step)
	a.at[k] = append(a.at[k], ashaTrial{trial: trial, loss: loss})
	slices.SortStableFunc(a.at[k], func(s, t ashaTrial) int { return cmp.Compare(s.loss, t.loss) })
}
