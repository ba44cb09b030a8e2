package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gocmbo/cmbo/internal/plot"
)

func main() {
	var o options
	flag.StringVar(&o.rows, "rows", "", "only rows whose name, size and kind, as -list prints them, match this `regexp`")
	flag.IntVar(&o.rounds, "rounds", 9, "rounds; expensive work gets fewer, at least 3")
	flag.DurationVar(&o.sample, "sample", 50*time.Millisecond, "shortest sample")
	flag.DurationVar(&o.budget, "budget", 2*time.Second, "time for all samples of one contender in one row")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "comma-separated Python interpreters")
	flag.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	flag.BoolVar(&o.details, "details", false, "print every form's median, too")
	flag.StringVar(&o.json, "json", "", "write all samples to this `file`")
	flag.StringVar(&o.from, "from", "", "measure nothing: take the samples from this `file`, written with -json")
	flag.BoolVar(&o.list, "list", false, "list the rows and end")
	flag.StringVar(&o.learn, "learn", "", "instead: Learn on so many tasks each, `500,1000,...`, time and memory")
	flag.StringVar(&o.figures, "figures", "", "instead: measure scaling and draw it into this `folder`")
	flag.StringVar(&o.clock, "clock", "wall",
		"wall, or cpu: the time a process had a processor, for a machine that is not quiet")
	worker := flag.Bool("worker", false, "answer the requests of another process on standard input")
	flag.Parse()
	var err error
	switch {
	case o.clock != "wall" && o.clock != "cpu":
		err = fmt.Errorf("-clock: %q is neither wall nor cpu", o.clock)
	case *worker:
		if o.clock == "cpu" {
			now = cpuSeconds
		}
		err = serve(os.Stdin, os.Stdout)
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case o.learn != "":
		err = learnMany(o)
	default:
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

type options struct {
	rows, python, json, from, learn, figures, clock string
	rounds                                          int
	sample, budget                                  time.Duration
	markdown, details, list                         bool
}

func (o options) run() error {
	pick, err := regexp.Compile(o.rows)
	if err != nil {
		return err
	}
	if o.rounds < 1 {
		return fmt.Errorf("%d rounds", o.rounds)
	}
	wanted := rows()
	if o.figures != "" {
		wanted = figureRows()
	}
	wanted = slices.DeleteFunc(wanted, func(r row) bool { return !pick.MatchString(r.String()) })
	if o.list {
		for _, r := range wanted {
			fmt.Println(r)
		}
		return nil
	}
	if o.from != "" {
		about, results, err := readJSON(o.from, wanted)
		if err != nil {
			return err
		}
		return o.show(about, results)
	}
	// Peers and sources are found beside the source of this file.
	if _, err := os.Stat(filepath.Join("peers", "worker.py")); err != nil {
		return errors.New("started outside its own folder, where the Python side is")
	}
	dir, err := os.MkdirTemp("", "cmbo-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// An interrupt ends the workers with their pipes, and the folder with us.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	c := &conductor{dir: dir, rounds: o.rounds, sample: o.sample, budget: o.budget}
	about, err := c.start(o)
	defer func() {
		for _, w := range c.workers {
			w.stop()
		}
	}()
	if err != nil {
		return err
	}
	var results []*result
	for i, r := range wanted {
		select {
		case <-stop:
			return fmt.Errorf("interrupted before row %d of %d", i+1, len(wanted))
		default:
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s\n", i+1, len(wanted), r)
		res, err := c.run(r)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		for _, f := range res.failed {
			fmt.Fprintln(os.Stderr, "  out:", f)
		}
		results = append(results, res)
	}
	if o.json != "" {
		if err := writeJSON(o.json, about, results); err != nil {
			return err
		}
	}
	return o.show(about, results)
}

// show prints the table or draws the figures.
func (o options) show(about []string, results []*result) error {
	for _, a := range about {
		fmt.Println(a)
		fmt.Println()
	}
	if o.figures != "" {
		return drawFigures(o.figures, results)
	}
	o.print(results)
	return nil
}

func (o options) print(results []*result) {
	form := (*plot.Table).Text
	if o.markdown {
		form = markdown
	}
	fmt.Println(form(summary(results)))
	if o.details {
		fmt.Println(form(details(results)))
	}
	met, missed, unknown := 0, 0, 0
	for _, r := range results {
		for _, k := range r.row.checks {
			switch _, _, yes, ok := r.verdict(k); {
			case !ok:
				unknown++
			case yes:
				met++
			default:
				missed++
			}
		}
	}
	fmt.Printf("%d targets met, %d missed, %d not to be told here\n", met, missed, unknown)
}

// start brings up the workers and returns what they are.
func (c *conductor) start(o options) ([]string, error) {
	about := []string{fmt.Sprintf("%s, %s, %s/%s; medians of up to %d alternating rounds by the %s clock, one thread",
		processor(), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, o.rounds, o.clock)}
	note := func(format string, args ...any) { about = append(about, fmt.Sprintf(format, args...)) }
	w, err := startGo(def, c.dir, "", o.clock)
	if err != nil {
		return about, err
	}
	c.workers = append(c.workers, w)
	if w, err = startGo(acc, c.dir, "accel", o.clock); err != nil {
		note("no accelerated build: its columns are '-' (%s)", firstLine(err))
	} else {
		c.workers = append(c.workers, w)
	}
	if o.python == "" {
		note("no Python given: numpy's and scikit-learn's columns are '-'")
		return about, nil
	}
	pythons := startPythons(strings.Split(o.python, ","), o.clock, note)
	for _, p := range pythons {
		note("%s: %s", p.name, p.about)
	}
	c.workers = append(c.workers, pythons...)
	return about, nil
}

func (r row) String() string { return strings.TrimSpace(r.name + " " + r.size + " (" + r.kind + ")") }

func sortedKeys(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }
