// Command objectstore tunes a function with its prior and its journal in an object store:
// see README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

func main() {
	url := flag.String("bucket", "mem://", "URL of the bucket: file:///folder, mem://")
	name := flag.String("run", "example", "name of the run, which goes on where it ended")
	n := flag.Int("evaluations", 10, "number of evaluations to add")
	flag.Parse()
	if err := run(context.Background(), *url, *name, *n); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, name string, n int) error {
	bucket, err := OpenStore(ctx, url)
	if err != nil {
		return err
	}
	defer bucket.Close()
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Float("momentum", 0, 1))
	if err != nil {
		return err
	}
	learned, err := cmbo.Learn(ctx, space, past())
	if err != nil {
		return err
	}
	digest, err := PutPrior(ctx, bucket, learned)
	if err != nil {
		return err
	}
	prior, err := Prior(ctx, bucket, digest) // as another process would, by its name
	if err != nil {
		return err
	}
	opt, err := Open(ctx, bucket, name, space, cmbo.WithPrior(prior))
	if err != nil {
		return err
	}
	for range n {
		trial, err := opt.Ask(ctx)
		if err != nil {
			return err
		}
		if err := opt.Tell(trial.ID, accuracy(trial.Float("lr"), trial.Float("momentum"), 0)); err != nil {
			return err
		}
	}
	best, _ := opt.Best()
	fmt.Printf("prior %s\n%d evaluations, best %.4f\n", digest, len(opt.Observations()), best.Y)
	return nil
}

// accuracy is what is tuned; tasks differ by where it is best.
func accuracy(lr, momentum, shift float64) float64 {
	return 0.95 - math.Pow(math.Log10(lr)+2.5+shift, 2)/20 - math.Pow(momentum-0.8, 2)/4
}

// past are finished runs of other tasks.
func past() []cmbo.Task {
	tasks := make([]cmbo.Task, 5)
	for i := range tasks {
		t := &tasks[i]
		t.ID = fmt.Sprint("past ", i)
		for j := range 12 {
			x := []float64{math.Pow(10, -5+5*float64(j)/11), float64(j*5%12) / 11}
			t.X, t.Y = append(t.X, x), append(t.Y, accuracy(x[0], x[1], 0.2*float64(i-2)))
		}
	}
	return tasks
}
