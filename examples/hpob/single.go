package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// single tries one method and reports its mean curve.
func single(ctx context.Context, o *options, tables []*bench.Table, stdout, stderr io.Writer) error {
	if len(tables) != 1 {
		return fmt.Errorf("%d search spaces; name one with -space", len(tables))
	}
	if err := makeRoom(o.out); err != nil {
		return err
	}
	out, err := o.run(ctx, tables, "", stderr)
	if err != nil {
		return err
	}
	if len(out.Failures) > 0 {
		return errors.New(out.Failures[0].String())
	}
	if len(out.Records) == 0 {
		return fmt.Errorf("%s has no runs with %s: it brings an acquisition of its own and runs beside that kind alone",
			o.protocol.Methods[0], o.protocol.Acquisitions[0])
	}
	return curve(o, out.Records, stdout)
}

// makeRoom makes the folder of a file that is written once all runs are made, and refuses a
// folder in the file's place.
func makeRoom(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("-out: %s is a folder; without -experiment it is the file to write the mean curve to", path)
	}
	return os.MkdirAll(filepath.Dir(path), 0o777)
}

// curve prints the mean curve and writes it as CSV.
func curve(o *options, records []bench.Record, stdout io.Writer) error {
	curves := make([][]float64, len(records))
	tasks := make(map[string]bool)
	for i, r := range records {
		curves[i] = r.Regret
		tasks[r.Task] = true
	}
	mean := bench.MeanCurve(curves)
	name := records[0].Method
	if a := records[0].Acquisition; a != "" {
		name += ", " + a
	}
	fmt.Fprintf(stdout, "%s: mean normalised simple regret of %d runs on %d tasks\n\n", name, len(records), len(tasks))
	fmt.Fprintln(stdout, "queries   regret")
	for t, v := range mean {
		if t <= 5 || t%5 == 0 || t == len(mean)-1 {
			fmt.Fprintf(stdout, "%7d   %.4f\n", t, v)
		}
	}
	if o.out == "" {
		return nil
	}
	var b strings.Builder
	b.WriteString("queries,mean_normalised_simple_regret\n")
	for t, v := range mean {
		fmt.Fprintf(&b, "%d,%v\n", t, v)
	}
	if err := os.WriteFile(o.out, []byte(b.String()), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nwrote %s\n", o.out)
	return nil
}
