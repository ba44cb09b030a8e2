package study

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
)

// PriorInfo is a prior and how it is kept.
type PriorInfo struct {
	PriorFile
	Prior *cmbo.Prior
	Files []api.FileReport // of the request that learned it
}

// LearnPrior learns a prior, keeps it, and gives it the request's name if there
// is one. The same request makes the same prior, so it may be repeated.
func (m *Manager) LearnPrior(ctx context.Context, q *api.NewPrior) (PriorInfo, error) {
	if q.Name != "" && !validName(q.Name) { // better before learning than after
		return PriorInfo{}, ErrName
	}
	space, err := m.spaceOf(q.Space, &q.Learn)
	if err != nil {
		return PriorInfo{}, err
	}
	prior, files, err := m.learn(ctx, space, &q.Learn)
	if err != nil {
		return PriorInfo{}, err
	}
	p, err := m.keep(ctx, prior, q.Name)
	p.Files = files
	return p, err
}

// keep keeps a prior, and gives it a name if that is not empty.
func (m *Manager) keep(ctx context.Context, prior *cmbo.Prior, name string) (PriorInfo, error) {
	digest, err := m.priors.put(prior, name)
	if err != nil {
		return PriorInfo{}, err
	}
	return m.Prior(ctx, digest)
}

// learn learns a prior over a space.
func (m *Manager) learn(ctx context.Context, space *cmbo.Space, q *api.Learn) (*cmbo.Prior, []api.FileReport, error) {
	opts, err := learnOptions(q, &m.limits)
	if err != nil {
		return nil, nil, err
	}
	space, tasks, files, err := m.past(ctx, space, q)
	if err != nil {
		return nil, nil, err
	}
	var prior *cmbo.Prior
	err = m.turns.Job(ctx, func() error {
		prior, err = cmbo.Learn(ctx, space, tasks, opts...)
		return err
	})
	return prior, files, err
}

// past collects the tasks that a request names, within the limits, and their space.
func (m *Manager) past(ctx context.Context, space *cmbo.Space,
	q *api.Learn) (*cmbo.Space, []cmbo.Task, []api.FileReport, error) {
	l := &m.limits
	if space != nil || len(q.Files) != 1 || len(q.Tasks) > 0 {
		if err := checkSpace(space, l); err != nil {
			return nil, nil, nil, err
		}
	}
	space, tasks, files, err := m.readFiles(ctx, space, q)
	if err == nil {
		err = checkSpace(space, l)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	more, err := m.tasks(space, q)
	if err != nil {
		return nil, nil, nil, err
	}
	tasks = append(more, tasks...)
	if err := within("tasks", len(tasks), l.Tasks); err != nil {
		return nil, nil, nil, err
	}
	total, steps := 0, 0
	for _, t := range tasks {
		for _, c := range t.Curves {
			steps += len(c.Values)
		}
		if err := within("observations of a task", len(t.X)+len(t.Failed), l.TaskRows); err != nil {
			return nil, nil, nil, err
		}
		total += len(t.X) + len(t.Failed)
	}
	if err := within("observations of all tasks", total, l.TotalRows); err != nil {
		return nil, nil, nil, err
	}
	if err := within("values of all curves", steps, l.Steps); err != nil {
		return nil, nil, nil, err
	}
	return space, tasks, files, nil
}

// tasks collects the tasks that were sent and those that studies make.
func (m *Manager) tasks(space *cmbo.Space, q *api.Learn) ([]cmbo.Task, error) {
	var tasks []cmbo.Task
	for i := range q.Tasks {
		if err := within("parameters of a task", len(q.Tasks[i].Params), m.limits.Dims); err != nil {
			return nil, err
		}
		if err := within("descriptors of a task", len(q.Tasks[i].Context), m.limits.Dims); err != nil {
			return nil, err
		}
		tasks = append(tasks, q.Tasks[i].Task())
	}
	for _, id := range q.Studies {
		s, err := m.Study(id)
		if err != nil {
			return nil, inStudy(id, err)
		}
		if s.damaged != nil {
			return nil, inStudy(id, s.damaged)
		}
		if s.minimize != q.Minimize {
			return nil, fmt.Errorf("%w: study %s: minimize is %v there and %v here", ErrRequest, id, s.minimize, q.Minimize)
		}
		if !sameParams(s.Space(), space) {
			return nil, fmt.Errorf("%w: study %s has other parameters", ErrRequest, id)
		}
		t, err := s.task()
		if err != nil {
			return nil, inStudy(id, err)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// inStudy makes an error about a study that a request's body names: that it is
// unknown is the body's fault then, not the path's.
func inStudy(id string, err error) error {
	if err == ErrUnknownStudy {
		return fmt.Errorf("%w: study %q: %v", ErrRequest, id, err)
	}
	return fmt.Errorf("study %q: %w", id, err)
}

// sameParams reports whether two spaces have the same parameters, by their
// descriptions.
func sameParams(a, b *cmbo.Space) bool {
	describe := func(s *cmbo.Space) []byte {
		t, err := cmbo.NewSpace(s.Params()...) // without candidates
		if err != nil {
			return nil
		}
		d, err := json.Marshal(t)
		if err != nil {
			return nil
		}
		return d
	}
	d := describe(a)
	return d != nil && bytes.Equal(d, describe(b))
}

// Check says whether transfer helps on the past that a request names.
func (m *Manager) Check(ctx context.Context, q *api.Check) (*cmbo.CheckReport, []api.FileReport, error) {
	learn, err := learnOptions(&q.Learn, &m.limits)
	if err != nil {
		return nil, nil, err
	}
	var opts []cmbo.CheckOption
	for _, o := range learn {
		opts = append(opts, o)
	}
	if q.LeaveOut != nil {
		if err := within("tasks left out", *q.LeaveOut, m.limits.Tasks); err != nil {
			return nil, nil, err
		}
		opts = append(opts, cmbo.WithCheckTasks(*q.LeaveOut))
	}
	if q.Evaluations != nil {
		if err := within("evaluations of a check", *q.Evaluations, m.limits.TaskRows); err != nil {
			return nil, nil, err
		}
		opts = append(opts, cmbo.WithCheckEvaluations(*q.Evaluations))
	}
	space, err := m.spaceOf(q.Space, &q.Learn)
	if err != nil {
		return nil, nil, err
	}
	space, tasks, files, err := m.past(ctx, space, &q.Learn)
	if err != nil {
		return nil, nil, err
	}
	var report *cmbo.CheckReport
	err = m.turns.Job(ctx, func() error {
		report, err = cmbo.Check(ctx, space, tasks, opts...)
		return err
	})
	return report, files, err
}

// spaceOf returns the space of a request, or else that of the first study it names, nil
// if it names none.
func (m *Manager) spaceOf(space *cmbo.Space, q *api.Learn) (*cmbo.Space, error) {
	if space != nil || len(q.Studies) == 0 {
		return space, nil
	}
	s, err := m.Study(q.Studies[0])
	if err != nil {
		return nil, inStudy(q.Studies[0], err)
	}
	if space = s.Space(); space == nil {
		return nil, inStudy(q.Studies[0], s.Damaged())
	}
	return space, nil
}

// Adopt brings a prior to a space whose parameters have changed, and keeps what that
// makes, as LearnPrior does.
func (m *Manager) Adopt(ctx context.Context, ref string, q *api.Adopt) (PriorInfo, *cmbo.Adoption, error) {
	if q.Name != "" && !validName(q.Name) {
		return PriorInfo{}, nil, ErrName
	}
	if err := checkSpace(q.Space, &m.limits); err != nil {
		return PriorInfo{}, nil, err
	}
	old, err := m.Prior(ctx, ref)
	if err != nil {
		return PriorInfo{}, nil, err
	}
	var prior *cmbo.Prior
	var a *cmbo.Adoption
	err = m.turns.Job(ctx, func() (err error) {
		prior, a, err = old.Prior.Adopt(ctx, q.Space, q.Changes)
		return err
	})
	if err != nil {
		return PriorInfo{}, nil, err
	}
	p, err := m.keep(ctx, prior, q.Name)
	return p, a, err
}

// AddPrior keeps an encoded prior, and gives it a name if that is not empty.
func (m *Manager) AddPrior(ctx context.Context, name string, b []byte) (PriorInfo, error) {
	if name != "" && !validName(name) {
		return PriorInfo{}, ErrName
	}
	if err := within("bytes of a prior", len(b), m.limits.PriorBytes); err != nil {
		return PriorInfo{}, err
	}
	var prior *cmbo.Prior
	err := m.turns.Job(ctx, func() (err error) {
		prior, err = decodePrior(ctx, b, &m.limits)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return PriorInfo{}, ctx.Err()
	case err != nil:
		return PriorInfo{}, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return m.keep(ctx, prior, name)
}

// Prior returns the prior of a name or a digest.
func (m *Manager) Prior(ctx context.Context, ref string) (PriorInfo, error) {
	var prior *cmbo.Prior
	var of priorOf
	err := m.turns.Job(ctx, func() (err error) {
		prior, of, err = m.priors.get(ctx, ref)
		return err
	})
	if err != nil {
		return PriorInfo{}, err
	}
	digest := of.Prior
	m.priors.mu.Lock()
	defer m.priors.mu.Unlock()
	return PriorInfo{PriorFile: PriorFile{Digest: digest, Names: m.priors.namesOf(digest), Bytes: m.priors.size[digest]},
		Prior: prior}, nil
}

// EncodedPrior returns the encoded form of the prior of a name or a digest.
func (m *Manager) EncodedPrior(ref string) ([]byte, error) {
	return m.priors.encoded(ref)
}

// Priors lists all priors.
func (m *Manager) Priors() []PriorFile { return m.priors.list() }
