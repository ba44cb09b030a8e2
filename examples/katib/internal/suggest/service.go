// Package suggest serves Katib's suggestions, and its rules for early stopping, from
// package cmbo.
//
// A request brings the experiment, its trials and the state that the reply
// before it left with Katib, so a reply follows from its request alone: the
// service may be killed and started again between any two.
package suggest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// A Service implements api.v1.beta1.Suggestion and EarlyStopping.
type Service struct {
	api.UnimplementedSuggestionServer
	api.UnimplementedEarlyStoppingServer
	// Algorithm is the name that experiments give the algorithm.
	Algorithm string
	// Log is told of each request.
	Log *log.Logger
	// DBManager is the address of Katib's DB manager, or empty: with it suggestions follow
	// from the curves of trials, too, where an experiment stops them early.
	DBManager string

	priors priors
	logs   logs
	dir    string // of states, none if it is empty

	mu     sync.Mutex
	states map[string]string
}

// New returns a service that serves an algorithm of a name.
//
// It reads priors and histories from files of the folder dir and from URLs that
// begin as one of urls, which end with a slash; empty ones forbid either. States
// are left with Katib; for clients that do not bring them back, the service
// keeps each experiment's newest in memory, and in the folder states if that is
// not empty.
func New(algorithm, dir string, urls []string, states string, logger *log.Logger) *Service {
	return &Service{Algorithm: algorithm, Log: logger, priors: priors{dir: dir, urls: urls}, dir: states,
		states: map[string]string{}}
}

// GetSuggestions returns exactly as many assignments as are asked for.
func (s *Service) GetSuggestions(ctx context.Context, q *api.GetSuggestionsRequest) (*api.GetSuggestionsReply, error) {
	e := q.GetExperiment()
	logf := s.logf(e)
	reply, err := s.suggest(ctx, q, logf)
	if err != nil {
		logf("%d suggestions refused: %v", q.GetCurrentRequestNumber(), err)
		return nil, refusal(err)
	}
	logf("%d suggestions after %d trials", len(reply.ParameterAssignments), len(q.GetTrials()))
	return reply, nil
}

// logf returns what logs about an experiment.
func (s *Service) logf(e *api.Experiment) func(string, ...any) {
	return func(format string, args ...any) {
		s.Log.Printf("%q: "+format, append([]any{e.GetName()}, args...)...)
	}
}

func (s *Service) suggest(ctx context.Context, q *api.GetSuggestionsRequest,
	logf func(string, ...any)) (*api.GetSuggestionsReply, error) {
	e := q.GetExperiment()
	x, err := s.read(e)
	switch {
	case err != nil:
	case x.space == nil:
		err = errors.New("it has no parameters")
	case e.GetSpec().GetObjective() == nil:
		err = errors.New("it has no objective")
	case q.GetCurrentRequestNumber() < 0:
		err = fmt.Errorf("%d suggestions are asked for", q.GetCurrentRequestNumber())
	}
	if err != nil {
		return nil, invalid(err)
	}
	opts, prior, err := s.options(ctx, x, logf)
	if err != nil {
		return nil, invalid(err)
	}
	key := keyOf(e)
	// A first request begins anew, even if one like it was answered before.
	first := q.GetTotalRequestNumber() > 0 && q.GetTotalRequestNumber() <= q.GetCurrentRequestNumber()
	if x.state == "" && !first {
		if x.state, err = s.remembered(key); err != nil {
			return nil, err
		}
	}
	r, err := newRun(x, opts, prior, logf)
	if err != nil {
		return nil, invalid(err)
	}
	if s.DBManager != "" && e.GetSpec().GetEarlyStopping() != nil {
		c, err := s.logs.connect(s.DBManager)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		r.reported = func(ctx context.Context, t *api.Trial) ([]float64, error) {
			return c.reported(ctx, t.GetName(), r.metricOf(t))
		}
	}
	if err := r.learn(ctx, q.GetTrials()); err != nil {
		return nil, err
	}
	var rows [][]float64
	if n := int(q.GetCurrentRequestNumber()); n > 0 {
		if rows, err = r.ask(ctx, n); err != nil {
			return nil, err
		}
	}
	state, err := r.encode()
	if err != nil {
		return nil, err
	}
	if err := s.remember(key, state); err != nil {
		return nil, err
	}
	reply := &api.GetSuggestionsReply{Algorithm: &api.AlgorithmSpec{
		AlgorithmName:     s.Algorithm,
		AlgorithmSettings: []*api.AlgorithmSetting{{Name: stateSetting, Value: state}},
	}}
	for _, row := range rows {
		reply.ParameterAssignments = append(reply.ParameterAssignments,
			&api.GetSuggestionsReply_ParameterAssignments{Assignments: x.space.assignments(row)})
	}
	return reply, nil
}

// ValidateAlgorithmSettings refuses what GetSuggestions could not serve. Katib
// makes sure of an objective and of parameters itself, so only those that are
// there are looked at.
func (s *Service) ValidateAlgorithmSettings(ctx context.Context,
	q *api.ValidateAlgorithmSettingsRequest) (*api.ValidateAlgorithmSettingsReply, error) {
	e := q.GetExperiment()
	logf := s.logf(e)
	if err := s.validate(ctx, e, logf); err != nil {
		logf("not valid: %v", err)
		return nil, refusal(err)
	}
	logf("valid")
	return &api.ValidateAlgorithmSettingsReply{}, nil
}

func (s *Service) validate(ctx context.Context, e *api.Experiment, logf func(string, ...any)) error {
	x, err := s.read(e)
	if err == nil && x.state != "" {
		err = errors.New("setting " + stateSetting + " is the service's own")
	}
	if err != nil || x.space == nil || e.GetSpec().GetObjective() == nil {
		return invalid(err)
	}
	opts, _, err := s.options(ctx, x, logf)
	if err == nil {
		_, err = cmbo.New(x.space.Space, opts...)
	}
	return invalid(err)
}

// errExperiment: the experiment is what is wrong.
var errExperiment = errors.New("the experiment is not valid")

// invalid says that an error is about the experiment.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errExperiment, err)
}

// refusal turns an error into a status. None is UNKNOWN, which Katib takes for a
// verdict on the experiment, as it does INVALID_ARGUMENT.
func refusal(err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, errUnreachable):
		code = codes.Unavailable
	case errors.Is(err, errFailed):
	case errors.Is(err, errExperiment):
		code = codes.InvalidArgument
	case errors.Is(err, cmbo.ErrNoCandidates):
		code = codes.ResourceExhausted
	}
	return status.Error(code, err.Error())
}

// keyOf returns what identifies an experiment: all that does not change while it
// runs.
func keyOf(e *api.Experiment) string {
	spec := &api.ExperimentSpec{
		ParameterSpecs: e.GetSpec().GetParameterSpecs(),
		Objective:      e.GetSpec().GetObjective(),
		Algorithm:      &api.AlgorithmSpec{},
	}
	for _, a := range e.GetSpec().GetAlgorithm().GetAlgorithmSettings() {
		if a.GetName() != stateSetting {
			spec.Algorithm.AlgorithmSettings = append(spec.Algorithm.AlgorithmSettings, a)
		}
	}
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(&api.Experiment{Name: e.GetName(), Spec: spec})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// remembered returns the state last kept for an experiment, empty if there is
// none.
func (s *Service) remembered(key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.states[key]; state != "" || s.dir == "" {
		return state, nil
	}
	b, err := os.ReadFile(filepath.Join(s.dir, key))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// remember keeps a state.
func (s *Service) remember(key, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[key] = state
	if s.dir == "" {
		return nil
	}
	f, err := os.CreateTemp(s.dir, key+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(state)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(s.dir, key))
}
