// Hpob compares methods on recorded tuning tasks in HPO-B's format, or on a user's own histories.
// README.md has the formats, the protocols and more commands.
//
//	go run ./examples/hpob -data FILE -method RGPE                 # one method: its mean curve
//	go run ./examples/hpob -experiment quick -data FILE -out DIR   # all methods, and a report
//	go run ./examples/hpob -report DIR                             # the report again
//	go run ./examples/hpob -ratios DIR,DIR                         # methods over several tables
//	go run ./examples/hpob -data history.csv -space space.json -minimize
//
// An experiment may be killed at any time: the same command goes on where it stopped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/gocmbo/cmbo/cmbo/bench"

	// Most of the hours that experiments take is linear algebra. Results differ in last digits from those without.
	_ "github.com/gocmbo/cmbo/linalg/accel"
)

type options struct {
	data       []string
	space      string
	past       histories
	out        string
	report     string // folder to report on, nothing else being done
	ratios     list   // folders to compare base with the other methods of, nothing else being done
	base       string
	experiment string // "" to try one method
	protocol   bench.Protocol
	ablate     bool // compare changes of the default with it
	workers    int
	quiet      bool

	own         string // a comparison with methods of its own
	constraints []constraint
	contexts    bool
	cost        string
	noise       float64
	curves      bool
	ways        []string
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hpob:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	if o.report != "" {
		return writeReport(o.report, stdout)
	}
	if o.ratios != nil {
		return printAreas(o.ratios, o.base, stdout)
	}
	if o.own != "" {
		return own[o.own].run(ctx, &study{options: o, stdout: stdout, stderr: stderr})
	}
	tables, err := open(o, stdout)
	if err != nil {
		return err
	}
	if o.experiment != "" {
		return compare(ctx, o, tables, stdout, stderr)
	}
	return single(ctx, o, tables, stdout, stderr)
}
