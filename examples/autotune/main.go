// Autotune tunes the block sizes of this module's matrix product for the shapes at hand, by
// times measured on the machine it runs on, with experience from other shapes that is part
// of the program.
//
//	go run -C examples/autotune .
//
// A product A·B in pure Go goes through its operands in blocks: of the inner dimension, of
// the rows of A and of the columns of B. Which sizes are fast depends on the shape of the
// product, on its form (A·B, A·Bᵀ or Aᵀ·B) and on the caches. The program draws shapes that
// the prior has not seen, tunes each with random search, with an optimiser without
// experience and with the prior, a few evaluations each, and measures at the end, over and
// over and in turn, what they came to. It prints how much slower than the best sizes known
// of a shape the sizes found are, and writes a figure.
//
// The prior, past.prior, is in the program by go:embed. On another machine, or for shapes of
// another kind, record one of your own and build again:
//
//	go run -C examples/autotune . -record past.prior
//
// The files in reading order: tune.go is what a program does that tunes itself with the
// library, product.go the work that is measured, compare.go the comparison.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

type settings struct {
	seed                    uint64
	shapes, repeats, budget int
	out, record             string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "autotune:", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("autotune", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Uint64Var(&s.seed, "seed", 1, "`seed` of the shapes and of the searches; times differ from run to run all the same")
	f.IntVar(&s.shapes, "shapes", 6, "`number` of new shapes to tune for")
	f.IntVar(&s.repeats, "repeats", 3, "`number` of runs of each method on each shape")
	f.IntVar(&s.budget, "budget", 8, "`number` of block sizes each run may measure")
	f.StringVar(&s.out, "out", "autotune.svg", "`file` to draw the comparison to; empty for none")
	f.StringVar(&s.record, "record", "", "`file` to write a prior of past shapes to, measured on this machine, nothing else being done")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; -help lists the flags", f.Arg(0))
	}
	for i, n := range []int{s.shapes, s.repeats, s.budget} {
		if n < 1 {
			return s, fmt.Errorf("-%s %d is below 1", []string{"shapes", "repeats", "budget"}[i], n)
		}
	}
	return s, nil
}

func run(ctx context.Context, s settings, w io.Writer) error {
	if s.record != "" {
		return record(ctx, s, w)
	}
	c, err := compare(ctx, s, w)
	if err != nil {
		return err
	}
	c.print(w)
	if s.out == "" {
		return nil
	}
	fmt.Fprintf(w, "\nfigure: %s\n", s.out)
	return os.WriteFile(s.out, []byte(c.figure().SVG()), 0o644)
}
