package cmbo_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
)

// careful is an acquisition that wants values it can rely on: the mean less a
// standard deviation.
type careful struct{}

func (careful) Score(mean, sd float64) float64 { return mean - sd }
func (careful) String() string                 { return "careful" }

func init() {
	// Snapshots and journals name the acquisition; so they know which one it is.
	acq.Register("careful", func(arg string) (acq.Func, error) {
		if arg != "" {
			return nil, errors.New("careful takes no parameter")
		}
		return careful{}, nil
	})
}

// An acquisition of one's own: anything that orders points by mean and standard
// deviation.
func ExampleWithAcquisition() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.Float("pressure", 0, 10))
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space, cmbo.WithAcquisition(careful{}))
	if err != nil {
		panic(err)
	}
	for range 10 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		if err := opt.Tell(trial.ID, -math.Pow(trial.Float("pressure")-4, 2)); err != nil {
			panic(err)
		}
	}
	// After the initial design it stays near the best value it knows.
	best, _ := opt.Best()
	run := opt.Observations()
	last := run[len(run)-1]
	fmt.Printf("best at %.0f, the last proposal at %.0f\n", best.Float("pressure"), last.Float("pressure"))
	// Output:
	// best at 4, the last proposal at 4
}
