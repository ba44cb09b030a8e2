// Command beam learns a prior of past tasks on any runner of Apache Beam: see README.md.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/gocmbo/cmbo/cmbo"
)

// job is what the flags say.
type job struct {
	in, work, out string
	attempts      int
	resume        bool
	settings      Settings
}

// Settings are what all workers need to know.
type Settings struct {
	Space       json.RawMessage // of the parameters
	Seed        uint64
	Minimize    bool
	IndexPoints int
	Skip        bool // bad tasks are left out, else they end the job
}

// learner returns a learner of the first pass.
func (s *Settings) learner() (*cmbo.Learner, error) {
	space, err := spaceOf(s.Space)
	if err != nil {
		return nil, err
	}
	opts := []cmbo.LearnOption{cmbo.WithSeed(s.Seed), cmbo.WithIndexPoints(s.IndexPoints)}
	if s.Minimize {
		opts = append(opts, cmbo.WithMinimize())
	}
	return cmbo.NewLearner(space, opts...)
}

func main() {
	j := job{}
	spaceFile := flag.String("space", "", "file with the JSON form of the space (required)")
	bad := flag.String("bad", "fail", "what becomes of bad lines and tasks: fail ends the job, skip leaves them out and counts them")
	flag.StringVar(&j.in, "in", "", "pattern of files of JSON lines, an evaluation each (required)")
	flag.StringVar(&j.work, "work", "", "folder for what is known between two passes, which all workers see (required)")
	flag.StringVar(&j.out, "out", "", "file for the encoded prior, which all workers see (required)")
	flag.IntVar(&j.attempts, "attempts", 3, "how often a pass is run before its failure is the job's")
	flag.BoolVar(&j.resume, "resume", false, "go on behind the last pass that -work holds")
	flag.Uint64Var(&j.settings.Seed, "seed", 1, "seed of everything random")
	flag.BoolVar(&j.settings.Minimize, "minimize", false, "smaller values are better")
	flag.IntVar(&j.settings.IndexPoints, "index-points", 500, "size of the index set, at most")
	flag.Parse()
	beam.Init() // a worker of a runner elsewhere does not return from here
	j.settings.Skip = *bad == "skip"
	err := errors.New("-space, -in, -work and -out are required, and -bad is fail or skip")
	if *spaceFile != "" && j.in != "" && j.work != "" && j.out != "" && (*bad == "fail" || *bad == "skip") {
		if j.settings.Space, err = os.ReadFile(*spaceFile); err == nil {
			err = j.run(context.Background(), os.Stdout)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

// state names the file of what is known after a pass.
func (j *job) state(pass int) string { return fmt.Sprintf("%s/pass-%03d.learner", j.work, pass) }

// run makes passes until there is a prior, each a pipeline of its own.
func (j *job) run(ctx context.Context, w io.Writer) error {
	if _, err := j.settings.learner(); err != nil { // before a cluster is asked to
		return err
	}
	done, err := j.passes(ctx)
	if err != nil {
		return err
	}
	if done > 0 && !j.resume {
		return fmt.Errorf("%s holds passes of a job: -resume goes on with it", j.work)
	}
	if err := j.begin(ctx, done); err != nil {
		return err
	}
	for pass := done + 1; ; pass++ {
		if err := j.pass(ctx, w, pass); err != nil {
			return fmt.Errorf("pass %d: %w", pass, err)
		}
		if done, err = j.passes(ctx); err != nil {
			return err
		}
		if done < pass {
			return j.tell(ctx, w)
		}
	}
}

// begin keeps the settings of a job that begins, and holds those of one that goes on against
// what it was begun with: its passes have them, whatever the flags say now.
func (j *job) begin(ctx context.Context, done int) error {
	file := j.work + "/settings.json"
	if done == 0 {
		b, err := json.Marshal(j.settings)
		if err != nil {
			return err
		}
		return writeFile(ctx, file, b)
	}
	var begun Settings
	b, err := readFile(ctx, file)
	if err == nil {
		err = json.Unmarshal(b, &begun)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, f := range []struct {
		name       string
		begun, now any
	}{
		{"seed", begun.Seed, j.settings.Seed}, {"minimize", begun.Minimize, j.settings.Minimize},
		{"index-points", begun.IndexPoints, j.settings.IndexPoints},
	} {
		if f.begun != f.now {
			return fmt.Errorf("the job in %s was begun with -%s=%v, not %v", j.work, f.name, f.begun, f.now)
		}
	}
	return nil
}

// passes returns the number of passes that have left a file.
func (j *job) passes(ctx context.Context) (int, error) {
	fs, err := filesystem.New(ctx, j.work)
	if err != nil {
		return 0, err
	}
	defer fs.Close()
	for n := 0; ; n++ {
		found, err := fs.List(ctx, j.state(n+1))
		if err != nil || len(found) == 0 {
			return n, err
		}
	}
}

// pass runs the pipeline of a pass, and again if it fails: nothing of a run that failed is
// in the state that the next one begins from.
func (j *job) pass(ctx context.Context, w io.Writer, pass int) error {
	var failed []error
	for range max(j.attempts, 1) {
		p, s := beam.NewPipelineWithRoot()
		j.build(s, pass)
		result, err := beamx.RunWithMetrics(ctx, p)
		if err == nil {
			counters := make(map[string]int64)
			for _, c := range result.Metrics().AllMetrics().Counters() {
				if c.Key.Namespace == namespace {
					counters[c.Key.Name] += cmp.Or(c.Committed, c.Attempted)
				}
			}
			_, err := fmt.Fprintf(w, "pass %d:", pass)
			for _, name := range slices.Sorted(maps.Keys(counters)) {
				_, err = fmt.Fprintf(w, " %s %d", name, counters[name])
			}
			fmt.Fprintln(w)
			return err
		}
		failed = append(failed, err)
		if strings.Contains(err.Error(), badMark) { // it would be as bad again
			break
		}
	}
	return errors.Join(failed...)
}

// build makes the pipeline: lines, tasks by ID, a learner of all, and its next state.
func (j *job) build(s beam.Scope, pass int) {
	before := ""
	if pass > 1 {
		before = j.state(pass - 1)
	}
	lines := textio.Read(s, j.in)
	byTask := beam.ParDo(s, &keyFn{Settings: j.settings}, lines)
	tasks := beam.ParDo(s, &taskFn{Settings: j.settings}, beam.GroupByKey(s, byTask))
	sums := beam.Combine(s, &learnFn{Settings: j.settings, Before: before}, tasks)
	end := &endFn{Settings: j.settings, Before: before, After: j.state(pass), Out: j.out}
	beam.ParDo0(s, end, beam.Impulse(s), beam.SideInput{Input: sums}) // also where no task leaves any sums
}

// tell reads the prior back and names it.
func (j *job) tell(ctx context.Context, w io.Writer) error {
	b, err := readFile(ctx, j.out)
	if err != nil {
		return err
	}
	p, err := own.Decode(ctx, bytes.NewReader(b))
	if err != nil {
		return err
	}
	digest, err := p.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "prior of %d tasks, %d bytes, digest %s\n", p.NumTasks(), len(b), digest)
	return err
}

func readFile(ctx context.Context, name string) ([]byte, error) {
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return filesystem.Read(ctx, fs, name)
}

func writeFile(ctx context.Context, name string, b []byte) error {
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer fs.Close()
	return filesystem.Write(ctx, fs, name, b)
}
