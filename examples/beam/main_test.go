package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

const spaceJSON = `{"params":[{"name":"lr","kind":"logfloat","lo":0.0001,"hi":1},{"name":"depth","kind":"int","lo":1,"hi":8}]}`

// lines are those of n tasks, of six evaluations each, in files.
func files(t *testing.T, n int, more ...string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for j := range n {
		best, scale := -2.5+0.3*r.NormFloat64(), math.Exp(r.NormFloat64())
		for range 6 {
			lr, depth := math.Pow(10, -4*r.Float64()), 1+r.IntN(8)
			y := scale * (10 - math.Pow(math.Log10(lr)-best, 2) + 0.1*float64(depth))
			lines = append(lines, fmt.Sprintf(`{"task":"run-%05d","config":{"lr":%g,"depth":%d},"value":%g}`, j, lr, depth, y))
		}
	}
	lines = append(lines, more...)
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	dir := t.TempDir()
	for i := range 4 {
		part := lines[i*len(lines)/4 : (i+1)*len(lines)/4]
		name := filepath.Join(dir, fmt.Sprintf("part-%d.jsonl", i))
		require.NoError(t, os.WriteFile(name, []byte(strings.Join(part, "\n")+"\n"), 0o644))
	}
	return filepath.Join(dir, "*.jsonl")
}

func newJob(t *testing.T, in string) *job {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // where Beam's local runner leaves files
	return &job{
		in: in, work: dir, out: filepath.Join(dir, "prior"), attempts: 1,
		settings: Settings{Space: json.RawMessage(spaceJSON), Seed: 1, IndexPoints: 24},
	}
}

// alone is the digest of what one process learns of the same lines.
func alone(t *testing.T, j *job, refuse ...string) string {
	t.Helper()
	names, err := filepath.Glob(j.in)
	require.NoError(t, err)
	var all []byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, b...)
	}
	var tasks []cmbo.Task
	byTask := make(map[string][]string)
	for line := range strings.Lines(string(all)) {
		var key map[string]any
		json.Unmarshal([]byte(line), &key)
		if id, _ := key["task"].(string); id != "" {
			byTask[id] = append(byTask[id], strings.TrimSpace(line))
		}
	}
	space, err := spaceOf(j.settings.Space)
	require.NoError(t, err)
	for _, id := range refuse {
		delete(byTask, id)
	}
	for _, lines := range byTask {
		tasks = append(tasks, taskOf(t, space, lines))
	}
	p, err := cmbo.LearnFrom(context.Background(), space, func() iter.Seq2[cmbo.Task, error] {
		return func(yield func(cmbo.Task, error) bool) {
			for _, task := range tasks {
				if !yield(task, nil) {
					return
				}
			}
		}
	}, cmbo.WithSeed(1), cmbo.WithIndexPoints(24))
	require.NoError(t, err)
	digest, err := p.Digest()
	require.NoError(t, err)
	return digest
}

func taskOf(t *testing.T, space *cmbo.Space, lines []string) cmbo.Task {
	t.Helper()
	sorted := append([]string(nil), lines...)
	for i := range sorted { // insertion sort: another one than the pipeline's
		for k := i; k > 0 && sorted[k] < sorted[k-1]; k-- {
			sorted[k], sorted[k-1] = sorted[k-1], sorted[k]
		}
	}
	read, err := history.JSONLines{Space: space}.Read(strings.NewReader(strings.Join(sorted, "\n")))
	require.NoError(t, err)
	return read.Tasks[0]
}

// TestPipeline: the engine makes the prior, bit for bit, that one process makes, through
// all passes, and leaves out what is bad where that is wanted.
func TestPipeline(t *testing.T) {
	bad := []string{
		`{"task":"run-00007","config":{"lr":0.1,"depth":99},"value":1}`,
		`{"task":"broken","config":{"lr":0.1,"depth":2},"value":"high"}`,
		`{"config":{"lr":0.1,"depth":2},"value":1}`, "no JSON", `{"Task":"other","config":{"lr":0.1,"depth":2},"value":1}`,
	}
	j := newJob(t, files(t, 1100, bad...))
	var out bytes.Buffer
	err := j.run(context.Background(), &out)
	require.ErrorContains(t, err, badMark)

	j = newJob(t, j.in)
	j.settings.Skip = true
	out.Reset()
	require.NoError(t, j.run(context.Background(), &out))
	want := alone(t, j, "run-00007", "broken")
	for pass := 1; pass <= 5; pass++ {
		require.Contains(t, out.String(), fmt.Sprintf("pass %d: bad_lines 3 bad_tasks 2 tasks 1099\n", pass))
	}
	require.Contains(t, out.String(), "prior of 1099 tasks")
	require.Contains(t, out.String(), "digest "+want+"\n")

	require.ErrorContains(t, j.run(context.Background(), &out), "-resume")
	// A job that ended before its fourth pass goes on with it.
	require.NoError(t, os.Remove(j.state(4)))
	require.NoError(t, os.Remove(j.out))
	j.resume = true
	out.Reset()
	require.NoError(t, j.run(context.Background(), &out))
	require.NotContains(t, out.String(), "pass 3:")
	require.Contains(t, out.String(), "digest "+want+"\n")
}

// TestResumeWithOtherFlags: they are refused, as the passes that have ended would not heed them.
func TestResumeWithOtherFlags(t *testing.T) {
	begun := newJob(t, "none")
	begun.resume = true
	require.NoError(t, begun.begin(context.Background(), 0))
	require.NoError(t, os.WriteFile(begun.state(1), nil, 0o644))
	for says, change := range map[string]func(*Settings){
		"begun with -minimize=false, not true": func(s *Settings) { s.Minimize = true },
		"begun with -seed=1, not 2":            func(s *Settings) { s.Seed = 2 },
		"begun with -index-points=24, not 25":  func(s *Settings) { s.IndexPoints = 25 },
	} {
		j := *begun
		change(&j.settings)
		require.ErrorContains(t, j.run(context.Background(), io.Discard), says)
	}
	begun.settings.Skip = true
	require.NoError(t, begun.begin(context.Background(), 1))
}

// TestLongTask: what the job wrote is read back, though a stranger's prior of as many rows would be refused.
func TestLongTask(t *testing.T) {
	var lines strings.Builder
	for k := range 2001 {
		fmt.Fprintf(&lines, `{"task":"long","config":{"lr":%g,"depth":%d},"value":%d}`+"\n", math.Pow(10, -float64(k%20)/5), 1+k%8, k%17)
	}
	name := filepath.Join(t.TempDir(), "long.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(lines.String()), 0o644))
	var out bytes.Buffer
	require.NoError(t, newJob(t, name).run(context.Background(), &out))
	require.Contains(t, out.String(), "prior of 1 tasks")
}

// TestFailuresAreRetried: workers that die in the middle of a pass, after they have added
// tasks, add them once.
func TestFailuresAreRetried(t *testing.T) {
	j := newJob(t, files(t, 60))
	want := alone(t, j)
	fallible.left.Store(2)
	j.in, j.attempts = "fallible://"+j.in, 3
	var out bytes.Buffer
	require.NoError(t, j.run(context.Background(), &out))
	require.Negative(t, fallible.left.Load(), "it did fail")
	require.Contains(t, out.String(), "tasks 60\n")
	require.Contains(t, out.String(), "digest "+want+"\n")

	j = newJob(t, j.in)
	fallible.left.Store(2)
	j.attempts = 2
	require.ErrorContains(t, j.run(context.Background(), &out), errDied.Error())
}

// TestNothingLearned: a job of no good task fails, also where an earlier one has left a prior.
func TestNothingLearned(t *testing.T) {
	before := newJob(t, files(t, 3))
	require.NoError(t, before.run(context.Background(), io.Discard))
	for _, line := range []string{"", "no JSON"} {
		j := newJob(t, files(t, 0, line))
		j.out, j.settings.Skip = before.out, true
		var out bytes.Buffer
		require.ErrorContains(t, j.run(context.Background(), &out), badMark+"no good task")
		require.NotContains(t, out.String(), "prior of")
	}
}

// TestShardCoder: a shard comes back as it was, and bytes that are none are refused.
func TestShardCoder(t *testing.T) {
	j := newJob(t, "")
	f := &learnFn{Settings: j.settings}
	require.NoError(t, f.Setup())
	s := f.CreateAccumulator()
	b, err := json.Marshal(cmbo.Task{ID: "a", X: [][]float64{{0.1, 3}}, Y: []float64{1}})
	require.NoError(t, err)
	s, err = f.AddInput(s, b)
	require.NoError(t, err)
	s.refused = []string{"b: too large"}
	one, err := encodeShard(s)
	require.NoError(t, err)
	back, err := decodeShard(one)
	require.NoError(t, err)
	require.Equal(t, s.refused, back.refused)
	two, err := encodeShard(back)
	require.NoError(t, err)
	require.Equal(t, one, two)
	_, err = f.MergeAccumulators(s, back)
	require.ErrorIs(t, err, cmbo.ErrTask, "the same task twice")
	for i := range one {
		_, err := decodeShard(one[:i])
		require.Error(t, err)
	}
}

// fallible is the local file system, of which some reads end early.
var fallible struct{ left atomic.Int64 }

var errDied = errors.New("the disk died")

type fallibleFS struct{ filesystem.Interface }

func init() {
	filesystem.Register("fallible", func(ctx context.Context) filesystem.Interface { return fallibleFS{local.New(ctx)} })
}

func (f fallibleFS) List(ctx context.Context, glob string) ([]string, error) {
	names, err := f.Interface.List(ctx, strings.TrimPrefix(glob, "fallible://"))
	for i := range names {
		names[i] = "fallible://" + names[i]
	}
	return names, err
}

func (f fallibleFS) Size(ctx context.Context, name string) (int64, error) {
	return f.Interface.Size(ctx, strings.TrimPrefix(name, "fallible://"))
}

func (f fallibleFS) OpenRead(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := f.Interface.OpenRead(ctx, strings.TrimPrefix(name, "fallible://"))
	return &dying{ReadCloser: r, left: 300}, err
}

// dying is a file that cannot be read on after some bytes, as often as fallible says.
type dying struct {
	io.ReadCloser
	left int
}

func (d *dying) Read(b []byte) (int, error) {
	n, err := d.ReadCloser.Read(b[:min(len(b), 100)])
	if d.left -= n; d.left < 0 && d.left > -150 && fallible.left.Add(-1) >= 0 {
		return n, errDied
	}
	return n, err
}
