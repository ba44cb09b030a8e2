package main

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// newSpace describes the classifier's hyper-parameters to the optimiser.
func newSpace() (*cmbo.Space, error) {
	return cmbo.NewSpace(
		cmbo.LogFloat("lambda", 1e-6, 1e2),
		cmbo.LogFloat("width", 0.02, 20),
		cmbo.Categorical("kernel", kernelNames...),
		cmbo.Int("degree", 1, 5),
	)
}

// configOf reads a row of the space: numbers as they are, a choice by its index.
func configOf(row []float64) config {
	return config{lambda: row[0], width: row[1], kernel: kernelNames[int(row[2])], degree: int(row[3])}
}

// A method is a way to choose the next setting.
type method int

const (
	randomSearch method = iota // draws settings blindly
	noPast                     // learns from the new data set alone
	paperMethod                // learns from the past as well, by the paper's method
	cmBO                       // learns from the past, by what the library does without options

	numMethods
)

func (m method) String() string {
	return [...]string{"random search", "no past", "paper", "cm-BO"}[m]
}

// A run is one search on one data set: the accuracies of the settings tried, in order.
type run []float64

// A pastOption makes the option by which one search knows of the past.
type pastOption func() (cmbo.Option, error)

// tune spends the budget on a data set. This is all a program has to do to use
// the optimiser: ask for a setting, try it, tell what came out.
func tune(ctx context.Context, m method, space *cmbo.Space, past pastOption, f *folded, budget int,
	seed uint64) (run, error) {
	if m == randomSearch {
		e, err := tryRandom(space, f, budget, seed, "random search")
		return e.Y, err
	}
	options := []cmbo.Option{
		cmbo.WithSeed(seed),
		cmbo.WithParallelism(1),            // runs are spread over the cores already
		cmbo.WithCandidateCounts(400, 100), // enough for four coordinates
	}
	if past != nil {
		o, err := past()
		if err != nil {
			return nil, err
		}
		options = append(options, o)
	}
	optimizer, err := cmbo.New(space, options...)
	if err != nil {
		return nil, err
	}
	var model classifier
	var r run
	for range budget {
		trial, err := optimizer.Ask(ctx)
		if err != nil {
			return nil, err
		}
		accuracy, err := model.accuracy(f, config{
			lambda: trial.Float("lambda"),
			width:  trial.Float("width"),
			kernel: trial.Choice("kernel"),
			degree: trial.Int("degree"),
		})
		if err != nil {
			return nil, err
		}
		if err := optimizer.Tell(trial.ID, accuracy); err != nil {
			return nil, err
		}
		r = append(r, accuracy)
	}
	return r, nil
}

// runSeed is the seed of one search. All methods get the same.
func runSeed(seed uint64, task, repeat int) uint64 {
	return rng.Stream(seed, "run", uint64(task), uint64(repeat)).Uint64()
}
