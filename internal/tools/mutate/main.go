// Command mutate changes formulas one at a time and says which changes the tests
// notice.
//
//	nice go -C internal/tools run ./mutate -out FILE
//
// It lists every place in the files of [groups] where one operator of sites can
// change the source, draws places by the seed, as many from each group, until n
// of the changed sources compile, and runs the group's tests on each. One test
// binary of a package holds all mutants of a group beside the original; an overlay
// leaves the files of the tree as they are. The tests must pass on the original. A
// mutant that fails a test, or exceeds the time of the processor, of the clock or
// the memory, is killed. FILE takes one line of JSON a mutant; a run that was
// interrupted goes on where it ended, and mutants of files that changed meanwhile
// are tested again.
//
// Survivors are held against survivors.txt, which says of each why no test can, or
// need, notice it. The exit code is 1 if fewer than -least percent were killed or a
// survivor has no reason.
package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/tools/repository"
)

//go:embed survivors.txt
var reasons string

type options struct {
	n, at         int
	seed          uint64
	out, only, of string
	timeout       time.Duration
	cpu           time.Duration
	memory        int
	least         float64
	list, again   bool
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 200, "number of `mutants`")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the draw")
	flag.IntVar(&o.at, "parallel", 2, "mutants tested at a time")
	flag.StringVar(&o.out, "out", "", "`file` of the results, which a later run continues")
	flag.StringVar(&o.only, "group", "", "only this `group`")
	flag.StringVar(&o.of, "of", "", "only mutants whose name has this `text`, such as that of a function")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "time on the clock for one run of tests")
	flag.DurationVar(&o.cpu, "cpu", 2*time.Minute, "time of the processor for one process, where the system can bound it: unlike the clock's, a busy machine does not use it up")
	flag.IntVar(&o.memory, "memory", 8000, "address space of one process in `MB`, where the system can bound it")
	flag.Float64Var(&o.least, "least", 95, "`percent` to be killed")
	flag.BoolVar(&o.list, "list", false, "print the mutants drawn and run nothing; some may not compile")
	flag.BoolVar(&o.again, "survivors", false, "test those again that FILE says survived")
	flag.Parse()
	err := repository.Enter()
	if err == nil {
		err = run(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// result is what became of a mutant.
type result struct {
	ID      string  `json:"id"`
	Place   string  `json:"place"`
	Change  string  `json:"change"`
	Fate    string  `json:"fate"`
	Seconds float64 `json:"seconds"`
	Source  string  `json:"source"` // sum of the file that was changed
}

// Fates of a mutant.
const (
	killed   = "killed"
	survived = "survived"
)

func run(ctx context.Context, o options) error {
	if o.out == "" && !o.list {
		return errors.New("-out names no file")
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	known, err := readResults(o.out)
	if err != nil {
		return err
	}
	chosen := groups
	if o.only != "" {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == o.only })
		if i < 0 {
			return fmt.Errorf("no group %q", o.only)
		}
		chosen = groups[i : i+1]
	}
	var all []result
	for gi, g := range chosen {
		ms, err := g.mutants(root)
		if err != nil {
			return err
		}
		ms = slices.DeleteFunc(ms, func(m mutant) bool { return !strings.Contains(m.id, o.of) })
		want := o.n / len(chosen)
		if gi < o.n%len(chosen) {
			want++
		}
		slices.SortFunc(ms, func(a, b mutant) int { return cmp.Compare(o.lot(a.id), o.lot(b.id)) })
		if o.list {
			for _, m := range ms[:min(want, len(ms))] {
				fmt.Printf("%s\t%s\t%s\n", m.id, m.place(), m.change())
			}
			continue
		}
		rs, err := o.test(ctx, root, g, ms, want, known)
		all = append(all, rs...)
		if err != nil {
			return err
		}
	}
	if o.list {
		return nil
	}
	return summary(chosen, all, o.least)
}

// lot places a mutant in the draw. It depends on the mutant's name alone, so that a
// change of the sources leaves most of the sample as it was.
func (o options) lot(id string) uint64 { return rng.Stream(o.seed, id).Uint64() }

// test runs the first want of the mutants that compile.
func (o options) test(ctx context.Context, root string, g group, ms []mutant, want int,
	known map[string]result) ([]result, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	drawn, err := drawValid(ctx, root, dir, ms, want)
	if err != nil {
		return nil, err
	}
	rs := make([]result, len(drawn))
	var open []int // not known
	for i, m := range drawn {
		if r, ok := known[m.id]; ok && r.Change == m.change() && r.Source == m.sum && !(o.again && r.Fate == survived) {
			rs[i], rs[i].Place = r, m.place()
		} else {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return rs, nil
	}
	for i, step := range g.tests {
		binary := filepath.Join(dir, filepath.Base(step.pkg)+".test")
		if i == 0 || !slices.ContainsFunc(g.tests[:i], func(s suite) bool { return s.pkg == step.pkg }) {
			if out, err := goTool(ctx, root, "test", "-c", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-o",
				binary, step.pkg); err != nil {
				return nil, fmt.Errorf("go test -c %s: %w\n%s", step.pkg, err, out)
			}
		}
		fate, out, err := o.runTests(ctx, root, dir, step, 0)
		if err == nil && fate != survived {
			err = errors.New("they fail")
		}
		if err != nil {
			return nil, fmt.Errorf("tests of %s on the original: %w\n%s", step.pkg, err, out)
		}
	}
	return rs, parallel.For(ctx, o.at, len(open), func(_, k int) error {
		i := open[k]
		m, start := drawn[i], time.Now()
		fate := survived
		for _, step := range g.tests {
			var err error
			if fate, _, err = o.runTests(ctx, root, dir, step, i+1); err != nil {
				return fmt.Errorf("%s: %w", m.id, err)
			}
			if fate == killed {
				break
			}
		}
		rs[i] = result{ID: m.id, Place: m.place(), Change: m.change(), Fate: fate, Seconds: time.Since(start).Seconds(),
			Source: m.sum}
		fmt.Printf("%-8s %s\t%s\t%s\n", fate, m.id, rs[i].Place, rs[i].Change)
		return appendResult(o.out, rs[i])
	})
}

// drawValid returns the first want mutants that compile, and leaves in dir the
// overlay of a tree that holds them all, numbered from 1 in their order.
func drawValid(ctx context.Context, root, dir string, ms []mutant, want int) ([]mutant, error) {
	drawn := slices.Clone(ms[:min(want, len(ms))])
	ms = ms[len(drawn):]
	for {
		files, spans, err := woven(drawn)
		if err != nil {
			return nil, err
		}
		replace := make(map[string]string)
		args := []string{"build", "-gcflags=-e", "-overlay", filepath.Join(dir, "overlay.json")}
		for file, text := range files {
			name := filepath.Join(dir, flat(file))
			if err := os.WriteFile(name, text, 0o600); err != nil {
				return nil, err
			}
			replace[filepath.Join(root, file)] = name
			if pkg := "./" + filepath.ToSlash(filepath.Dir(file)); !slices.Contains(args, pkg) {
				args = append(args, pkg)
			}
		}
		b, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "overlay.json"), b, 0o600); err != nil {
			return nil, err
		}
		out, err := goTool(ctx, root, args...)
		if err == nil {
			return drawn, nil
		}
		bad := blamed(out, spans)
		if len(bad) == 0 {
			return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		for _, n := range slices.Backward(bad) {
			drawn = slices.Delete(drawn, n-1, n)
		}
		more := min(want-len(drawn), len(ms))
		drawn, ms = append(drawn, ms[:more]...), ms[more:]
	}
}

func goTool(ctx context.Context, root string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	return cmd.CombinedOutput()
}

// runTests runs a suite on a mutant, 0 for the original, with the memory and the
// time bounded.
func (o options) runTests(ctx context.Context, root, dir string, s suite,
	mutant int) (fate string, out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout+time.Minute)
	defer cancel()
	args := []string{"-test.short", "-test.failfast", "-test.timeout", o.timeout.String(), "-test.run", s.run}
	binary := filepath.Join(dir, filepath.Base(s.pkg)+".test")
	cmd := exec.CommandContext(ctx, binary, args...)
	if sh, err := exec.LookPath("sh"); err == nil {
		limit := fmt.Sprintf(`ulimit -v %d 2>/dev/null; ulimit -t %d 2>/dev/null; exec "$0" "$@"`,
			o.memory<<10, int(o.cpu.Seconds()))
		cmd = exec.CommandContext(ctx, sh, append([]string{"-c", limit, binary}, args...)...)
	}
	cmd.Dir = filepath.Join(root, filepath.FromSlash(s.pkg))
	cmd.Env = append(os.Environ(), fmt.Sprint(environment, "=", mutant))
	cmd.WaitDelay = 10 * time.Second
	out, err = cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, out, nil
	case errors.As(err, &exit) || errors.Is(err, context.DeadlineExceeded):
		return killed, out, nil
	}
	return "", out, err
}

// readResults reads what an earlier run wrote; the last line on a mutant counts.
func readResults(name string) (map[string]result, error) {
	known := make(map[string]result)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) || name == "" {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var r result
		if json.Unmarshal(s.Bytes(), &r) == nil { // else the line was not finished
			known[r.ID] = r
		}
	}
	return known, nil
}

func appendResult(name string, r result) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// summary prints what was killed in each group and the survivors with the reasons.
func summary(chosen []group, rs []result, least float64) error {
	why := make(map[string]string)
	for line := range strings.Lines(reasons) {
		if id, reason, ok := strings.Cut(strings.TrimSpace(line), " | "); ok {
			why[id] = reason
		}
	}
	dead, unexplained := 0, 0
	for _, g := range chosen {
		n, k := 0, 0
		for _, r := range rs {
			if strings.HasPrefix(r.ID, g.name+" ") {
				n++
				if r.Fate == killed {
					k++
				}
			}
		}
		dead += k
		fmt.Printf("%-10s %3d of %3d killed\n", g.name, k, n)
	}
	for _, r := range rs {
		if r.Fate != survived {
			continue
		}
		reason := why[r.ID]
		if reason == "" {
			reason = "NO REASON IN survivors.txt"
			unexplained++
		}
		fmt.Printf("survived: %s (%s, %s): %s\n", r.ID, r.Place, r.Change, reason)
	}
	percent := 100 * float64(dead) / float64(max(len(rs), 1))
	fmt.Printf("all        %3d of %3d killed, %.1f %%\n", dead, len(rs), percent)
	switch {
	case percent < least:
		return fmt.Errorf("%.1f %% killed, not %g", percent, least)
	case unexplained > 0:
		return fmt.Errorf("%d survivors without a reason", unexplained)
	}
	return nil
}
