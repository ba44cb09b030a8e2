package report

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/paper"
)

// design is an experiment to be made up.
type design struct {
	spaces, acquisitions            []string
	methods                         []string
	tasks, targets, splits, repeats int
	budget                          int
}

func everyMethod() []string {
	var ms []string
	for _, m := range baseline.Methods() {
		ms = append(ms, m.Name)
	}
	for _, v := range paper.Variants() {
		ms = append(ms, v.String())
	}
	return append(ms, "cm-BO")
}

// large is of the size of the paper's experiment, with fewer repeats.
func large() design {
	return design{
		spaces:       []string{"rpart.preproc (4796)", "rpart (5859)", "svm (5891)", "ranger (7609)"},
		acquisitions: []string{"EI", "PI", "UCB(3)"},
		methods:      everyMethod(),
		tasks:        40, targets: 6, splits: 5, repeats: 3, budget: 50,
	}
}

func small() design {
	return design{
		spaces: []string{"a", "b"}, acquisitions: []string{"EI", "UCB(3)"},
		methods: []string{"Random", "GP", "RGPE", "WssClus_WssCMP", "GlobalCen"},
		tasks:   9, targets: 4, splits: 2, repeats: 2, budget: 10,
	}
}

// make invents records: regrets fall by steps at a rate of the method, the task
// and chance, and a prediction is off by a factor of the method.
func (d design) make(seed uint64) []bench.Record {
	r := rand.New(rand.NewPCG(seed, 1))
	var rs []bench.Record
	run := func(rec bench.Record, rate, hardness, wrong float64) {
		v := hardness * (0.3 + 0.4*r.Float64())
		rec.Regret = append(rec.Regret, v)
		for q := range d.budget {
			if r.Float64() < 2.5*rate/(1+0.03*float64(q)) {
				if v *= r.Float64(); v < 1e-5 {
					v = 0
				}
			}
			rec.Regret = append(rec.Regret, v)
			if rec.Method != "Random" {
				rec.Z = append(rec.Z, wrong*r.NormFloat64())
				rec.LogSD = append(rec.LogSD, math.Log(0.05)+0.3*r.NormFloat64())
			}
		}
		rs = append(rs, rec)
	}
	for si, space := range d.spaces {
		hard := make([]float64, d.tasks)
		for t := range hard {
			hard[t] = 0.2 + 0.8*r.Float64()
		}
		for split := range d.splits {
			targets := r.Perm(d.tasks)[:d.targets]
			for mi, m := range d.methods {
				rate := 0.04 + 0.006*float64((mi*7+si*3)%len(d.methods))
				if m == "Random" {
					rate = 0.03
				}
				acquisitions := d.acquisitions
				switch {
				case m == "Random":
					acquisitions = []string{""}
				case len(m) > 5 && m[:5] == "RM-GP":
					acquisitions = []string{"UCB(3)"}
				}
				for _, a := range acquisitions {
					for _, t := range targets {
						for k := range d.repeats {
							rec := bench.Record{Space: space, Method: m, Acquisition: a, Split: split, Task: fmt.Sprintf("task%02d", t), Repeat: k}
							run(rec, rate, hard[t], 0.7+0.1*float64(mi%8))
						}
					}
				}
			}
		}
	}
	return rs
}
