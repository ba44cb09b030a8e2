// Command benchdiff compares the Go benchmarks of two commits, or of the working
// tree and the baseline file beside it.
//
//	go run ./benchdiff HEAD~3                  # that commit against the working tree
//	go run ./benchdiff -bench 'W2|Learn' v1 v2 # one commit against another
//	go run ./benchdiff -baseline               # the baseline file against the working tree
//	go run ./benchdiff -write                  # make the baseline file anew
//
// Commits are checked out as git worktrees in a temporary folder, which is removed
// at the end. The sides take turns, one run of all benchmarks each, so that what
// the machine does besides falls on both. benchstat says what is a difference and
// what is noise.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// benchstat is pinned: its output is part of reviews.
const benchstat = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"

// rows are the benchmarks of what the comparison's table holds.
const rows = "^Benchmark(Mul|CholeskyFactorize|CholeskySolveTo|CholeskyInverseTo|EigenValues|EigenVectors|NuclearNorm|Sqrt|" +
	"W2|JeffreysOnce|Barycenter|Posterior|Likelihood|ClusterIteration|Online|LearnWorkers|AskTellTail)$"

// baselineName is the baseline file, in the folder of the module.
const baselineName = "baseline.txt"

type config struct {
	bench, time, packages, tags string
	count                       int
}

func main() {
	var c config
	flag.StringVar(&c.bench, "bench", rows,
		"benchmarks to run, a `regexp` as go test takes it; by default those of the table's rows")
	flag.StringVar(&c.time, "benchtime", "50ms", "time of each")
	flag.StringVar(&c.packages, "packages", "./linalg/... ./gaussian/... ./cmbo", "where they are")
	flag.StringVar(&c.tags, "tags", "", "build tags")
	flag.IntVar(&c.count, "count", 6, "runs of each side; benchstat wants 6 or more")
	baseline := flag.Bool("baseline", false, "compare the baseline file with the working tree")
	write := flag.Bool("write", false, "write the baseline file from the working tree")
	flag.Parse()
	if err := run(c, *baseline, *write, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchdiff:", err)
		os.Exit(1)
	}
}

// A side is one of the two things compared: a tree to run in and what it printed.
type side struct {
	name, dir, out string
}

func run(c config, baseline, write bool, args []string) (err error) {
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "cmbo-benchdiff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(root, "internal", "compare", baselineName)
	tree := side{"working tree", root, filepath.Join(tmp, "new.txt")}
	switch {
	case write:
		if err := c.measure(tree); err != nil {
			return err
		}
		return writeBaseline(c, root, tree.out, file)
	case baseline:
		for range c.count {
			if err := c.measure(tree); err != nil {
				return err
			}
		}
		return compare(file, tree.out)
	case len(args) < 1 || len(args) > 2:
		return fmt.Errorf("name one commit or two")
	}
	sides := []side{}
	for i, commit := range args {
		dir := filepath.Join(tmp, fmt.Sprint("tree", i))
		if _, err := output(root, "git", "worktree", "add", "--detach", "--quiet", dir, commit); err != nil {
			return err
		}
		defer func() {
			if _, e := output(root, "git", "worktree", "remove", "--force", dir); err == nil {
				err = e
			}
		}()
		sides = append(sides, side{commit, dir, filepath.Join(tmp, fmt.Sprint("side", i, ".txt"))})
	}
	if len(sides) == 1 {
		sides = append(sides, tree)
	}
	for i := range c.count {
		turn := slices.Clone(sides)
		if i%2 == 1 {
			slices.Reverse(turn)
		}
		for _, s := range turn {
			fmt.Fprintf(os.Stderr, "run %d of %d: %s\n", i+1, c.count, s.name)
			if err := c.measure(s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	fmt.Printf("old: %s\nnew: %s\n\n", sides[0].name, sides[1].name)
	return compare(sides[0].out, sides[1].out)
}

func (c config) args() []string {
	a := []string{"test", "-run=^$", "-bench=" + c.bench, "-benchtime=" + c.time}
	if c.tags != "" {
		a = append(a, "-tags="+c.tags)
	}
	return append(a, strings.Fields(c.packages)...)
}

// measure appends one run of the benchmarks to the side's file.
func (c config) measure(s side) error {
	f, err := os.OpenFile(s.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.Command("go", c.args()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, f, os.Stderr
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	if err := cmd.Run(); err != nil {
		out, _ := os.ReadFile(s.out)
		return fmt.Errorf("go %s: %w\n%s", strings.Join(c.args(), " "), err, tail(string(out), 2000))
	}
	return nil
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func compare(old, new string) error {
	// The header of a baseline file would put the sides into tables of their own.
	cmd := exec.Command("go", "run", benchstat, "-ignore", "commit,go,command,pkg", "old="+old, "new="+new)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// writeBaseline stores runs with what is needed to repeat them. The header lines
// are configuration lines of the benchmark format, which benchstat reads.
func writeBaseline(c config, root, out, file string) error {
	for range c.count - 1 {
		if err := c.measure(side{"working tree", root, out}); err != nil {
			return err
		}
	}
	commit, err := output(root, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	changed, err := output(root, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if changed != "" {
		commit += " with changes"
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(f, "commit: %s\ngo: %s\ncommand: GOMAXPROCS=1 go %s\n\n",
		commit, runtime.Version(), strings.Join(c.args(), " "))
	in, err := os.Open(out)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(f, in)
	return err
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
