package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
)

// An AskTeller is what a benchmark drives; *cmbo.Optimizer is one.
type AskTeller interface {
	Observe(x []float64, y float64, opts ...cmbo.ObservationOption) error
	Ask(ctx context.Context) (cmbo.Trial, error)
	Tell(id int, y float64, opts ...cmbo.ObservationOption) error
}

// A Record is what is kept of one run: a line of an experiment's runs.jsonl.
// All of it follows from the program, the table, the protocol and the seed.
type Record struct {
	Space       string `json:"space"`
	Method      string `json:"method"`
	Acquisition string `json:"acquisition"`
	Split       int    `json:"split"`
	Task        string `json:"task"`
	Repeat      int    `json:"repeat"`
	// Program is what [Program] said of the program that made the run.
	Program string `json:"program,omitempty"`
	// Rows are the rows of the task's table that were evaluated, the initial ones first.
	Rows []int `json:"rows"`
	// Regret is the normalised simple regret after the initial rows and after each query.
	Regret []float64 `json:"regret"`
	// Z and LogSD tell how good the prediction of each queried value was: (y − mean)/sd and ln(sd/range) with the deviation
	// of a measurement, noise included, and the range of the task's table, to five digits. Both leave out the queries without
	// a prediction of that point whose deviation is positive and finite, so that entry i need not be that of query i.
	Z     []float64 `json:"z,omitempty"`
	LogSD []float64 `json:"log_sd,omitempty"`
}

// Program names the program that is running: the version of its main module, which says the revision where the build
// recorded one, and the first digits of the SHA-256 of its executable, which is another one after any change of what
// it does. It is "" where that cannot be read.
func Program() string { return program() }

var program = sync.OnceValue(func() string {
	path, _ := os.Executable()
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return fmt.Sprintf("%s %.6x", version, sha256.Sum256(b))
})

// trace tunes a task: it tells the initial rows, then asks and tells budget times. The
// Record says all but which run it is. Regrets are (max − best)/(max − min) over the task's whole
// table, budget+1 numbers. A method that has proposed every row keeps its last regret.
func trace(ctx context.Context, t *TableTask, o AskTeller, initial []int, budget int) (*Record, error) {
	lo, hi := t.Range()
	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return nil, fmt.Errorf("%w: task %q has %d values from %g to %g, which give no regret",
			cmbo.ErrTask, t.ID, len(t.Y), lo, hi)
	}
	for _, i := range initial {
		if i < 0 || i >= len(t.X) {
			return nil, fmt.Errorf("%w: initial row %d of task %q, which has %d", cmbo.ErrOption, i, t.ID, len(t.X))
		}
	}
	best := lo
	r := &Record{Rows: make([]int, 0, len(initial)+budget), Regret: make([]float64, 0, budget+1)}
	told := func(row int) {
		r.Rows = append(r.Rows, row)
		best = max(best, t.Y[row])
	}
	for _, i := range initial {
		if err := o.Observe(t.X[i], t.Y[i]); err != nil {
			return nil, err
		}
		told(i)
	}
	reached := func() { r.Regret = append(r.Regret, (hi-best)/(hi-lo)) }
	reached()
	predictor, _ := o.(interface{ LastStep() (cmbo.Step, bool) })
	for len(r.Regret) <= budget {
		trial, err := o.Ask(ctx)
		if errors.Is(err, cmbo.ErrNoCandidates) {
			for len(r.Regret) <= budget {
				reached()
			}
			break
		}
		if err != nil {
			return nil, err
		}
		if trial.Index < 0 || trial.Index >= len(t.X) {
			return nil, fmt.Errorf("%w: trial %d proposes candidate %d, but task %q has %d rows; they must be the candidates",
				cmbo.ErrOption, trial.ID, trial.Index, t.ID, len(t.X))
		}
		y := t.Y[trial.Index]
		if predictor != nil {
			if s, ok := predictor.LastStep(); ok && s.Trial == trial.ID {
				mean, sd := s.Shift+s.Scale*s.Mean[s.Chosen], s.Scale*s.SD[s.Chosen]
				if f, ok := o.(foreteller); ok {
					if mean, sd, err = f.Predict(ctx, t.X[trial.Index]); err != nil {
						return nil, err
					}
				}
				r.predicted(y, mean, sd, s.Scale*s.Scale*s.NoiseVariance, hi-lo)
			}
		}
		if err := o.Tell(trial.ID, y); err != nil {
			return nil, err
		}
		told(trial.Index)
		reached()
	}
	return r, nil
}

// predicted keeps how good the prediction of a measurement was that came out as y. A model that
// does not say how noisy measurements are is taken to predict them without noise. A deviation of
// zero has neither score nor logarithm, and the query is left out.
func (r *Record) predicted(y, mean, sd, noise, width float64) {
	if noise > 0 {
		sd = math.Sqrt(sd*sd + noise)
	}
	z, logSD := (y-mean)/sd, math.Log(sd/width)
	if !(sd > 0) || math.IsNaN(z) || math.IsInf(z, 0) || math.IsInf(logSD, 0) {
		return
	}
	r.Z, r.LogSD = append(r.Z, round5(z)), append(r.LogSD, round5(logSD))
}

func round5(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	return r
}

// MeanCurve returns the entrywise mean of curves of equal length, nil for none.
func MeanCurve(curves [][]float64) []float64 {
	if len(curves) == 0 {
		return nil
	}
	mean := make([]float64, len(curves[0]))
	for _, c := range curves {
		for i, v := range c {
			mean[i] += v / float64(len(curves))
		}
	}
	return mean
}
