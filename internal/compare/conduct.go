package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A contender is a form on a worker.
type contender struct {
	w       *worker
	form    string
	rounds  int // samples to take
	reps    int // runs in a sample
	answer  []float64
	samples []float64
	extra   map[string]float64
}

// Label names the contender: the build of ours, the stack of numpy.
func (c *contender) label() string {
	if strings.HasPrefix(c.form, "gonum") || strings.HasPrefix(c.form, "peak") {
		return c.form
	}
	return c.form + " [" + c.w.name + "]"
}

func (c *contender) median() float64 {
	s := slices.Sorted(slices.Values(c.samples))
	if len(s) == 0 {
		return math.NaN()
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// A result is a row with its medians.
type result struct {
	row        row
	contenders []*contender
	failed     []string // contenders that could not run or disagreed
}

// conductor runs rows on its workers.
type conductor struct {
	workers []*worker
	dir     string
	rounds  int
	sample  time.Duration // length of a sample
	budget  time.Duration // for all samples of a contender
}

// run measures one row.
func (c *conductor) run(r row) (*result, error) {
	dir := filepath.Join(c.dir, "row")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := r.inputs().write(dir); err != nil {
		return nil, err
	}
	res := &result{row: r}
	var reference []float64
	peak := false
	for _, w := range c.workers {
		p, err := w.ask(request{Verb: "forms", Kind: r.kind})
		if err != nil {
			return nil, err
		}
		for _, f := range p.Forms {
			// One gonum and one peak are enough.
			if strings.HasPrefix(f, "gonum") && w.name != def || strings.HasPrefix(f, "peak") && peak {
				continue
			}
			// A textbook's form and scikit-learn lose their time outside of BLAS.
			if w.forced && (strings.Contains(f, "textbook") || r.kind == "learn") {
				continue
			}
			peak = peak || strings.HasPrefix(f, "peak")
			k := &contender{w: w, form: f}
			p, err := w.ask(request{Verb: "prepare", Kind: r.kind, Form: f, Dir: dir})
			if err != nil {
				res.failed = append(res.failed, fmt.Sprintf("%s: %s", k.label(), firstLine(err)))
				continue
			}
			k.answer = p.Answer
			if reference == nil {
				reference = p.Answer
			}
			if d := distance(reference, p.Answer); len(p.Answer) > 0 && !(d <= r.tol) {
				res.failed = append(res.failed, fmt.Sprintf("%s: differs from the first by %.1e of the largest entry, allowed %.1e", k.label(), d, r.tol))
				continue
			}
			k.reps = max(1, int(c.sample.Seconds()/max(p.Seconds, 1e-9)))
			each := float64(k.reps) * p.Seconds
			k.rounds = min(c.rounds, max(3, int(c.budget.Seconds()/max(each, 1e-9))))
			res.contenders = append(res.contenders, k)
		}
	}
	// A round more than counts: the first warms up what sleeps.
	for i := range c.rounds + 1 {
		turn := slices.Clone(res.contenders)
		if i%2 == 1 {
			slices.Reverse(turn)
		}
		for _, k := range turn {
			// Dear contenders sit out, evenly, but for the first and the warm-up.
			if i > 0 && i*k.rounds/c.rounds == (i-1)*k.rounds/c.rounds {
				continue
			}
			reps := k.reps
			if i == 0 {
				if k.rounds < c.rounds {
					continue // has run for long when it was prepared
				}
				reps = (reps + 1) / 2
			}
			p, err := k.w.ask(request{Verb: "run", Kind: r.kind, Form: k.form, Reps: reps})
			if err != nil {
				return nil, err
			}
			if i > 0 {
				k.samples = append(k.samples, p.Seconds)
			}
			k.extra = p.Extra
		}
	}
	for _, w := range c.workers {
		if _, err := w.ask(request{Verb: "drop"}); err != nil {
			return nil, err
		}
	}
	return res, nil
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// distance is the largest difference of two answers, relative to the largest
// entry of the first.
func distance(want, got []float64) float64 {
	if len(want) != len(got) {
		return math.Inf(1)
	}
	var d, top float64
	for i, v := range want {
		if math.IsNaN(got[i]) {
			return math.NaN()
		}
		d, top = max(d, math.Abs(v-got[i])), max(top, math.Abs(v))
	}
	return d / max(top, math.SmallestNonzeroFloat64)
}

// ours returns the contender of a build: the last of the forms that begin with
// "ours".
func (r *result) ours(build string) *contender {
	var out *contender
	for _, c := range r.contenders {
		if c.w.name == build && strings.HasPrefix(c.form, "ours") {
			out = c
		}
	}
	return out
}

// fastest returns the fastest contender whose form begins with prefix; for one
// of ours, of the same build. The textbook forms stand only for themselves.
func (r *result) fastest(build, prefix string) *contender {
	var out *contender
	for _, c := range r.contenders {
		switch {
		case !strings.HasPrefix(c.form, prefix),
			strings.HasPrefix(c.form, "ours") && c.w.name != build,
			strings.Contains(c.form, "textbook") && !strings.Contains(prefix, "textbook"):
			continue
		}
		if out == nil || c.median() < out.median() {
			out = c
		}
	}
	return out
}

// verdict says how a check came out: the number, what was asked, and whether it
// was met; ok is false if it could not be told, because one side is missing or,
// where that matters, the machine was busy.
func (r *result) verdict(k check) (number, target string, met, ok bool) {
	us := r.ours(k.build)
	if k.under > 0 {
		target = fmt.Sprintf("under %.3g ms", k.under*1e3)
		if us == nil {
			return "-", target, false, false
		}
		return seconds(us.median()), target, us.median() < k.under, true
	}
	them := r.fastest(k.build, k.against)
	name := k.against
	if k.most > 0 {
		target = fmt.Sprintf("≤ %.3g of %s", k.most, name)
	} else {
		target = fmt.Sprintf("≥ %.3g × %s", k.least, name)
	}
	if us == nil || them == nil || us.extra[disturbance] > quiet || them.extra[disturbance] > quiet {
		return "-", target, false, false
	}
	ratio := us.median() / them.median()
	if k.most > 0 {
		return fmt.Sprintf("%.3g", ratio), target, ratio <= k.most, true
	}
	return fmt.Sprintf("%.3g", 1/ratio), target, 1/ratio >= k.least, true
}
