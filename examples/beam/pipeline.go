package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// Counters, of what runs that the runner committed have seen.
const namespace = "cmbo"

var (
	goodTasks = beam.NewCounter(namespace, "tasks")
	badLines  = beam.NewCounter(namespace, "bad_lines")
	badTasks  = beam.NewCounter(namespace, "bad_tasks")
	leftOut   = beam.NewCounter(namespace, "tasks_left_out")
)

// badMark begins errors of bad data, which another attempt would not mend.
const badMark = "bad data: "

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*keyFn]())
	beam.RegisterDoFn(reflect.TypeFor[*taskFn]())
	beam.RegisterDoFn(reflect.TypeFor[*endFn]())
	beam.RegisterType(reflect.TypeFor[*learnFn]())
	beam.RegisterType(reflect.TypeFor[*shard]())
	beam.RegisterCoder(reflect.TypeFor[*shard](), encodeShard, decodeShard)
}

// spaces are those of the JSON forms met, which many accumulators share.
var spaces sync.Map

func spaceOf(b []byte) (*cmbo.Space, error) {
	if s, ok := spaces.Load(string(b)); ok {
		return s.(*cmbo.Space), nil
	}
	s := new(cmbo.Space)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, err
	}
	spaces.Store(string(b), s)
	return s, nil
}

// refuse counts bad data and says why, or returns the error that ends the job.
func (s *Settings) refuse(ctx context.Context, counter beam.Counter, err error) error {
	if !s.Skip {
		return errors.New(badMark + err.Error())
	}
	counter.Inc(ctx, 1)
	log.Warnf(ctx, "left out: %v", err)
	return nil
}

// keyFn finds the task of a line.
type keyFn struct{ Settings Settings }

func (f *keyFn) ProcessElement(ctx context.Context, line string, emit func(string, string)) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	var fields map[string]json.RawMessage // a struct would take "Task" for "task", which package history does not
	var id string
	err := json.Unmarshal([]byte(line), &fields)
	if err == nil && (json.Unmarshal(fields["task"], &id) != nil || strings.TrimSpace(id) == "") {
		err = errors.New(`no "task" that is a string`)
	}
	if err != nil {
		return f.Settings.refuse(ctx, badLines, fmt.Errorf("line %.80q: %w", line, err))
	}
	emit(strings.TrimSpace(id), line)
	return nil
}

// taskFn makes a task of its lines, in an order that does not depend on the runner.
type taskFn struct{ Settings Settings }

func (f *taskFn) ProcessElement(ctx context.Context, id string, next func(*string) bool, emit func([]byte)) error {
	var lines []string
	for line := ""; next(&line); {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	space, err := spaceOf(f.Settings.Space)
	if err != nil {
		return err
	}
	var b []byte
	read, err := history.JSONLines{Space: space}.Read(strings.NewReader(strings.Join(lines, "\n")))
	if err == nil {
		b, err = json.Marshal(read.Tasks[0])
	}
	if err != nil {
		return f.Settings.refuse(ctx, badTasks, fmt.Errorf("task %q: %w", id, err))
	}
	goodTasks.Inc(ctx, 1)
	emit(b)
	return nil
}

// own are the limits of what the job itself wrote: none.
var own = cmbo.PriorLimits{
	Bytes: math.MaxInt64, Tasks: math.MaxInt, TaskRows: math.MaxInt, TotalRows: math.MaxInt, Points: math.MaxInt,
}

// A shard is a learner on its way, with the tasks that it could not add.
type shard struct {
	space   []byte
	learner *cmbo.Learner
	refused []string
}

// encodeShard writes the space, the refusals and the learner.
func encodeShard(s *shard) ([]byte, error) {
	refused, err := json.Marshal(s.refused)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, part := range [][]byte{s.space, refused} {
		b.Write(binary.AppendUvarint(nil, uint64(len(part))))
		b.Write(part)
	}
	err = s.learner.Encode(&b)
	return b.Bytes(), err
}

func decodeShard(b []byte) (*shard, error) {
	s := new(shard)
	var refused []byte
	for _, part := range []*[]byte{&s.space, &refused} {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil, errors.New("a shard that ends early")
		}
		*part, b = b[k:k+int(n)], b[k+int(n):]
	}
	space, err := spaceOf(s.space)
	if err == nil {
		err = json.Unmarshal(refused, &s.refused)
	}
	if err == nil {
		s.learner, err = own.DecodeLearner(context.Background(), space, bytes.NewReader(b))
	}
	return s, err
}

// load returns the learner that a pass begins with.
func (s *Settings) load(ctx context.Context, before string) (*cmbo.Learner, error) {
	if before == "" {
		return s.learner()
	}
	space, err := spaceOf(s.Space)
	if err != nil {
		return nil, err
	}
	b, err := readFile(ctx, before)
	if err != nil {
		return nil, err
	}
	return own.DecodeLearner(ctx, space, bytes.NewReader(b))
}

// learnFn is a pass: each worker adds to shards of the learner before it, and these are
// merged in whatever tree the runner likes.
type learnFn struct {
	Settings Settings
	Before   string // file of the learner, "" for the first pass
	base     *cmbo.Learner
}

func (f *learnFn) Setup() (err error) {
	f.base, err = f.Settings.load(context.Background(), f.Before)
	return err
}

func (f *learnFn) CreateAccumulator() *shard {
	return &shard{space: f.Settings.Space, learner: f.base.Shard()}
}

func (f *learnFn) AddInput(s *shard, b []byte) (*shard, error) {
	var t cmbo.Task
	err := json.Unmarshal(b, &t)
	if err != nil {
		return nil, err
	}
	if err = s.learner.Add(t); err != nil {
		if !f.Settings.Skip {
			return nil, errors.New(badMark + err.Error())
		}
		s.refused = append(s.refused, err.Error())
	}
	return s, nil
}

func (f *learnFn) MergeAccumulators(a, b *shard) (*shard, error) {
	a.refused = append(a.refused, b.refused...)
	return a, a.learner.Merge(b.learner)
}

// endFn ends a pass: it writes the next state, or the prior. Done twice, it writes the same
// bytes twice.
type endFn struct {
	Settings           Settings
	Before, After, Out string
}

func (f *endFn) ProcessElement(ctx context.Context, _ []byte, sums func(**shard) bool) error {
	var s *shard
	if !sums(&s) { // else what -out held before would pass for what was learned
		return errors.New(badMark + "no good task, of which a prior could be made")
	}
	for _, why := range s.refused {
		leftOut.Inc(ctx, 1)
		log.Warnf(ctx, "left out: %s", why)
	}
	l, err := f.Settings.load(ctx, f.Before)
	if err != nil {
		return err
	}
	if err := l.Merge(s.learner); err != nil {
		return err
	}
	more, err := l.EndPass(ctx)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if more {
		if err := l.Encode(&b); err != nil {
			return err
		}
		return writeFile(ctx, f.After, b.Bytes())
	}
	p, err := l.Prior(ctx)
	if err != nil {
		return err
	}
	if err := p.Encode(&b); err != nil {
		return err
	}
	return writeFile(ctx, f.Out, b.Bytes())
}
