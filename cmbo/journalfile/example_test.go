package journalfile_test

import (
	"context"
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

func loss(t cmbo.Trial) float64 { return float64(t.Int("depth")) * t.Float("lr") }
