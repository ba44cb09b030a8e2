package cmbo_test

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
)

// The file was written by Prior.Encode when the program was built; see
// TestExamplePrior for how.
//
//go:embed testdata/example.prior
var experience []byte

// A prior that is part of the program: what was learned before it was built is there
// when it starts.
func ExampleDecodePrior() {
	prior, err := cmbo.DecodePrior(bytes.NewReader(experience))
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(prior.Space(), cmbo.WithPrior(prior))
	if err != nil {
		panic(err)
	}
	trial, err := opt.Ask(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println("learned from", len(prior.Tasks()), "tasks")
	fmt.Printf("the first proposal: lr %.3f\n", trial.Float("lr"))
	// Output:
	// learned from 3 tasks
	// the first proposal: lr 0.001
}
