package journalfile_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/journalfile"
)

// A program that tunes something begins its run and goes on with it by the same
// call; here it is stopped after every few trials.
func Example_crashAndResume() {
	dir, err := os.MkdirTemp("", "tuning")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12))
	if err != nil {
		log.Fatal(err)
	}
	program := func(trials int) {
		opt, file, err := journalfile.Open(filepath.Join(dir, "run.jsonl"), space, cmbo.WithMinimize())
		if err != nil {
			log.Fatal(err)
		}
		defer file.Close() // as the end of the process does, however it ends
		fmt.Printf("%d answers so far, %d trials open\n", len(opt.Observations()), len(opt.Open()))
		for _, trial := range opt.Open() { // asked before the crash
			if err := opt.Tell(trial.ID, loss(trial)); err != nil {
				log.Fatal(err)
			}
		}
		for range trials {
			trial, err := opt.Ask(context.Background())
			if err != nil {
				log.Fatal(err)
			}
			if err := opt.Tell(trial.ID, loss(trial)); err != nil {
				log.Fatal(err)
			}
		}
		if _, err := opt.Ask(context.Background()); err != nil { // never answered by this process
			log.Fatal(err)
		}
	}
	program(4)
	program(3)
	program(2)
	// Output:
	// 0 answers so far, 0 trials open
	// 4 answers so far, 1 trials open
	// 8 answers so far, 1 trials open
}

// A run goes on with a prior that was learned again: its journal is read with the new one, and what a snapshot
// then holds is the beginning of another journal.
func Example_newPrior() {
	dir, err := os.MkdirTemp("", "tuning")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, name := context.Background(), filepath.Join(dir, "run.jsonl")
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12))
	if err != nil {
		log.Fatal(err)
	}
	tasks := []cmbo.Task{
		{ID: "iris", X: [][]float64{{1e-4, 2}, {1e-3, 4}, {1e-2, 8}}, Y: []float64{0.83, 0.91, 0.78}},
		{ID: "wine", X: [][]float64{{1e-5, 5}, {2e-3, 6}, {0.5, 12}}, Y: []float64{0.52, 0.66, 0.19}},
	}
	learn := func(n int) *cmbo.Prior {
		prior, err := cmbo.Learn(ctx, space, tasks[:n])
		if err != nil {
			log.Fatal(err)
		}
		return prior
	}
	opt, file, err := journalfile.Open(name, space, cmbo.WithPrior(learn(1)))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := opt.Ask(ctx); err != nil {
		log.Fatal(err)
	}
	file.Close()

	newer := learn(2)
	old, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	opt, _, err = cmbo.RestoreJournal(old, cmbo.WithNewPrior(newer))
	old.Close()
	if err != nil {
		log.Fatal(err)
	}
	begun, err := os.Create(name + ".new")
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(opt.Snapshot(begun), begun.Sync(), begun.Close(), os.Rename(name+".new", name)); err != nil {
		log.Fatal(err)
	}
	opt, file, err = journalfile.Open(name, space, cmbo.WithPrior(newer))
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	fmt.Printf("%d trial open\n", len(opt.Open()))
	// Output: 1 trial open
}

func loss(t cmbo.Trial) float64 { return float64(t.Int("depth")) * t.Float("lr") }
