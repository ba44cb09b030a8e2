// Command mutate changes formulas one at a time and says which changes the tests
// notice.
//
//	nice go run ./internal/mutate -out FILE
//
// It lists every place in the files of [groups] where one operator of sites can
// change the source, draws places by the seed, as many from each group, until n
// of the changed sources compile, and runs the group's tests on each with go test
// -short -overlay, so that no file of the tree is touched. A mutant that fails a
// test, or exceeds the time or the memory, is killed. FILE takes one line of JSON
// a mutant; a run that was interrupted goes on where it ended, and mutants of files
// that changed meanwhile are tested again.
//
// Survivors are held against survivors.txt, which says of each why no test can, or
// need, notice it. The exit code is 1 if fewer than -least percent were killed or a
// survivor has no reason.
package main

import (
	"bufio"
	"bytes"
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
)

//go:embed survivors.txt
var reasons string

type options struct {
	n, at       int
	seed        uint64
	out, only   string
	timeout     time.Duration
	memory      int
	least       float64
	list, again bool
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 200, "number of `mutants`")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the draw")
	flag.IntVar(&o.at, "parallel", 2, "mutants tested at a time")
	flag.StringVar(&o.out, "out", "", "`file` of the results, which a later run continues")
	flag.StringVar(&o.only, "group", "", "only this `group`")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "time for the tests of one mutant")
	flag.IntVar(&o.memory, "memory", 8000, "address space of one process in `MB`, where the system can bound it")
	flag.Float64Var(&o.least, "least", 95, "`percent` to be killed")
	flag.BoolVar(&o.list, "list", false, "print the mutants drawn and run nothing; some may not compile")
	flag.BoolVar(&o.again, "survivors", false, "test those again that FILE says survived")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
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
	invalid  = "does not compile"
)

func run(ctx context.Context, o options) error {
	if o.out == "" && !o.list {
		return errors.New("-out names no file")
	}
	root, err := moduleRoot(ctx)
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

// test runs mutants in their order until want of them compile. Which these are
// does not depend on how many run at a time.
func (o options) test(ctx context.Context, root string, g group, ms []mutant, want int, known map[string]result) ([]result, error) {
	var valid []result
	for len(valid) < want && len(ms) > 0 {
		batch := ms[:min(want-len(valid), len(ms))]
		ms = ms[len(batch):]
		rs := make([]result, len(batch))
		err := parallel.For(ctx, o.at, len(batch), func(_, i int) error {
			m := batch[i]
			if r, ok := known[m.id]; ok && r.Change == m.change() && r.Source == m.sum && !(o.again && r.Fate == survived) {
				rs[i] = r
				return nil
			}
			start := time.Now()
			fate, err := o.fate(ctx, root, g, m)
			if err != nil {
				return err
			}
			rs[i] = result{ID: m.id, Place: m.place(), Change: m.change(), Fate: fate, Seconds: time.Since(start).Seconds(), Source: m.sum}
			fmt.Printf("%-16s %s\t%s\t%s\n", fate, m.id, rs[i].Place, rs[i].Change)
			return appendResult(o.out, rs[i])
		})
		if err != nil {
			return valid, err
		}
		for i, r := range rs {
			r.Place = batch[i].place()
			if r.Fate != invalid {
				valid = append(valid, r)
			}
		}
	}
	return valid, nil
}

// fate compiles a mutant and runs its group's tests until some fail.
func (o options) fate(ctx context.Context, root string, g group, m mutant) (string, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, m.source(), 0o600); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.file): file}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		return "", err
	}
	if out, err := o.goTool(ctx, root, "build", "-overlay", overlay, "./"+filepath.Dir(m.file)); err != nil {
		if bytes.Contains(out, []byte(filepath.Base(m.file))) || bytes.Contains(out, []byte("mutant.go")) {
			return invalid, nil
		}
		return "", fmt.Errorf("%s: %w\n%s", m.id, err, out)
	}
	for _, args := range g.tests {
		args := append([]string{"test", "-short", "-failfast", "-timeout", o.timeout.String(), "-overlay", overlay}, args...)
		out, err := o.goTool(ctx, root, args...)
		var exit *exec.ExitError
		switch {
		case err == nil:
		case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
			return invalid, nil // go vet, for one, finds a self-assignment
		case errors.As(err, &exit) || errors.Is(err, context.DeadlineExceeded):
			return killed, nil
		default:
			return "", err
		}
	}
	return survived, nil
}

// goTool runs the go command with the memory and the time bounded.
func (o options) goTool(ctx context.Context, root string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*o.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	if sh, err := exec.LookPath("sh"); err == nil {
		limit := fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec go "$@"`, o.memory<<10)
		cmd = exec.CommandContext(ctx, sh, append([]string{"-c", limit, "go"}, args...)...)
	}
	cmd.Dir = root
	cmd.WaitDelay = 10 * time.Second
	return cmd.CombinedOutput()
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
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
