package cmbo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// histories makes records of training on six data sets that like about the same
// learning rate, and on one whose scores were stored as losses.
func histories() (*cmbo.Space, []cmbo.Task) {
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12))
	if err != nil {
		panic(err)
	}
	rows, err := space.Sample(15, 1)
	if err != nil {
		panic(err)
	}
	var tasks []cmbo.Task
	noise := rand.New(rand.NewPCG(1, 1))
	for i, id := range []string{"iris", "wine", "glass", "seeds", "sonar", "yeast", "losses"} {
		train := accuracy(-3 + 0.1*float64(i))
		t := cmbo.Task{ID: id, X: rows}
		for _, x := range rows {
			y := train(x[0], int(x[1])) + 0.02*noise.NormFloat64()
			if id == "losses" {
				y = 1 - y
			}
			t.Y = append(t.Y, y)
		}
		tasks = append(tasks, t)
	}
	return space, tasks
}

// Before trusting your histories, have each of them tuned with what the others teach.
func ExampleCheck() {
	space, tasks := histories()
	report, err := cmbo.Check(context.Background(), space, tasks, cmbo.WithCheckEvaluations(8))
	if err != nil {
		panic(err)
	}
	fmt.Print(report)
	// Output:
	// left out  regret with  without  evaluations with  without  verdict of the run
	// iris      0.000        0.310    1.0               6.7      transfer helps
	// wine      0.000        0.320    1.0               6.7      transfer helps
	// glass     0.000        0.354    1.0               6.3      transfer helps
	// seeds     0.000        0.330    1.0               6.3      transfer helps
	// sonar     0.000        0.363    1.0               6.3      transfer helps
	// yeast     0.000        0.338    1.0               4.3      transfer helps
	// losses    0.125        0.094    2.0               5.7      the past is upside down
	// mean      0.018        0.301    1.1               6.0      (verdict below)
	// transfer helps: the mean regret is 0.018 with the past and 0.301 without, a difference of 0.283 ± 0.078; better with it on 6 of 7 tasks
	// in common to all tasks: 54 % of the variance of their values
	// upside down for the others: losses
}

// tuned returns a run of eight evaluations with experience from six of the histories.
func tuned(ctx context.Context) *cmbo.Optimizer {
	space, tasks := histories()
	prior, err := cmbo.Learn(ctx, space, tasks[:6])
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space, cmbo.WithPrior(prior))
	if err != nil {
		panic(err)
	}
	train := accuracy(-2.8)
	for range 8 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		if err := opt.Tell(trial.ID, train(trial.Float("lr"), trial.Int("depth"))); err != nil {
			panic(err)
		}
	}
	return opt
}

// A run says whether the past helps.
func ExampleOptimizer_Transfer() {
	ctx := context.Background()
	transfer, err := tuned(ctx).Transfer(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(transfer)
	if transfer.Verdict == cmbo.TransferMisleads {
		fmt.Println("go on without the past")
	}
	// Output:
	// transfer helps: 100 % of the mass lies on the past, 100 % on what all tasks have in common
}

// How far to trust the forecasts: each value against what was expected before it was told.
func ExampleOptimizer_Calibration() {
	ctx := context.Background()
	calibration, err := tuned(ctx).Calibration(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(calibration)
	first := calibration.Forecasts[0]
	fmt.Printf("trial %d came to %.3f, forecast %.2f ± %.2f\n", first.Trial, first.Y, first.Mean, first.SD)
	// Output:
	// 8 of 8 values lay inside their 90 % interval
	// trial 1 came to 0.939, forecast 0.68 ± 0.74
}

// What more evaluations may bring, in the unit of the values: end a run when an evaluation
// costs more than that is worth.
func ExampleOptimizer_Outlook() {
	ctx := context.Background()
	outlook, err := tuned(ctx).Outlook(ctx)
	if err != nil {
		panic(err)
	}
	const worth = 0.01 // accuracy that pays for an evaluation
	if outlook.Next < worth {
		fmt.Printf("stop: the next is worth %.3f\n", outlook.Next)
	}
	fmt.Printf("gained %.2f; at most %.2f is left\n", outlook.Gained, outlook.Most)
	// Output:
	// stop: the next is worth 0.000
	// gained 0.01; at most 0.00 is left
}

// Why the run asked for a trial.
func ExampleOptimizer_Explain() {
	ctx := context.Background()
	why, err := tuned(ctx).Explain(ctx, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(why.Reason, "of", len(why.Step.Scores), "candidates")
	_, text, _ := strings.Cut(why.String(), "depth=6: ")
	fmt.Printf("lr=%.4g: %s\n", why.Trial.Float("lr"), text)
	// Output:
	// largest score of 376 candidates
	// lr=0.002608: the largest mean (score 0.6828) of 376 candidates; expected 0.6828; too early to tell whether the past helps: 0 of 5 values
}
