package suggest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// stopSettings are those of early stopping; Katib's medianstop has the same.
type stopSettings struct {
	trials int // that have succeeded, before one is stopped
	start  int // report at which one is stopped, at the earliest
}

func (s *Service) stopSettings(e *api.EarlyStoppingSpec) (stopSettings, error) {
	out := stopSettings{trials: 1, start: 1}
	if name := e.GetAlgorithmName(); name != s.Algorithm {
		return out, fmt.Errorf("early stopping by %q is not served here; by %q it is", name, s.Algorithm)
	}
	for _, a := range e.GetAlgorithmSettings() {
		n, err := strconv.Atoi(a.GetValue())
		if err != nil || n < 1 {
			return out, fmt.Errorf("setting %s of early stopping is %q, not a whole number from 1", a.GetName(), a.GetValue())
		}
		switch a.GetName() {
		case "min_trials_required":
			out.trials = n
		case "start_step":
			out.start = n
		default:
			return out, fmt.Errorf("setting %q of early stopping is not known; min_trials_required and start_step are",
				a.GetName())
		}
	}
	return out, nil
}

// ValidateEarlyStoppingSettings refuses settings that GetEarlyStoppingRules could not
// serve.
func (s *Service) ValidateEarlyStoppingSettings(_ context.Context,
	q *api.ValidateEarlyStoppingSettingsRequest) (*api.ValidateEarlyStoppingSettingsReply, error) {
	if _, err := s.stopSettings(q.GetEarlyStopping()); err != nil {
		return nil, refusal(invalid(err))
	}
	return &api.ValidateEarlyStoppingSettingsReply{}, nil
}

// GetEarlyStoppingRules returns a rule for the trials suggested last, or none. Katib tests
// it once, by the best value that a trial has reported until then. It follows from the
// request and from what trials have reported to Katib.
func (s *Service) GetEarlyStoppingRules(ctx context.Context,
	q *api.GetEarlyStoppingRulesRequest) (*api.GetEarlyStoppingRulesReply, error) {
	logf := s.logf(q.GetExperiment())
	reply := &api.GetEarlyStoppingRulesReply{}
	rule, err := s.rule(ctx, q, logf)
	switch {
	case err != nil:
		logf("rules for early stopping refused: %v", err)
		return nil, refusal(err)
	case rule == nil:
		logf("no rule for early stopping")
	default:
		logf("trials are stopped whose %s by report %d is %s than %s", rule.Name, rule.StartStep, rule.Comparison, rule.Value)
		reply.EarlyStoppingRules = append(reply.EarlyStoppingRules, rule)
	}
	return reply, nil
}

func (s *Service) rule(ctx context.Context, q *api.GetEarlyStoppingRulesRequest,
	logf func(string, ...any)) (*api.EarlyStoppingRule, error) {
	e := q.GetExperiment()
	settings, err := s.stopSettings(e.GetSpec().GetEarlyStopping())
	if err != nil {
		return nil, invalid(err)
	}
	if a := e.GetSpec().GetAlgorithm(); a.GetAlgorithmName() != s.Algorithm {
		// Another algorithm suggests: its settings say nothing here.
		e = proto.CloneOf(e)
		e.Spec.Algorithm = &api.AlgorithmSpec{AlgorithmName: s.Algorithm}
	}
	x, err := s.read(e)
	if err == nil && (x.space == nil || e.GetSpec().GetObjective() == nil) {
		err = errors.New("it has no parameters or no objective")
	}
	if err != nil {
		return nil, invalid(err)
	}
	x.state = "" // the run is learned with the curves of its trials
	opts, prior, err := s.options(ctx, x, logf)
	if err != nil {
		return nil, invalid(err)
	}
	r, err := newRun(x, opts, prior, logf)
	if err != nil {
		return nil, invalid(err)
	}
	c, err := s.logs.connect(q.GetDbManagerAddress())
	if err != nil {
		return nil, invalid(err)
	}
	defer c.Close()
	var lengths []int
	r.reported = func(ctx context.Context, t *api.Trial) ([]float64, error) {
		values, err := c.reported(ctx, t.GetName(), r.metricOf(t))
		if err == nil && t.GetStatus().GetCondition() == api.TrialStatus_SUCCEEDED {
			lengths = append(lengths, len(values))
		}
		return values, err
	}
	if err := r.learn(ctx, q.GetTrials()); err != nil || len(lengths) < settings.trials {
		return nil, err
	}
	slices.Sort(lengths)
	// One that is much like those suggested last.
	trial, err := r.opt.Ask(ctx)
	if errors.Is(err, cmbo.ErrNoCandidates) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return r.rule(ctx, trial.ID, settings.start, lengths[len(lengths)/2])
}

// rule returns the rule for a trial of so many reports that is expected to save most of
// them, nil if none saves any.
func (r *run) rule(ctx context.Context, id, start, reports int) (rule *api.EarlyStoppingRule, err error) {
	most := 0.0
	for _, step := range shown(reports - 1) {
		if step < start {
			continue
		}
		value, chance, err := r.opt.Cutoff(ctx, id, step)
		if err != nil {
			return nil, err
		}
		if saved := chance * float64(reports-step); saved > most {
			most = saved
			rule = &api.EarlyStoppingRule{Name: r.metric, Value: strconv.FormatFloat(value, 'g', -1, 64),
				Comparison: api.ComparisonType_LESS, StartStep: int32(step)}
		}
	}
	if rule != nil && r.minimize {
		rule.Comparison = api.ComparisonType_GREATER
	}
	return rule, nil
}

// shown returns the reports of n that the model is shown: the first ones, and then each a
// tenth further on than the one before.
func shown(n int) (steps []int) {
	for step := 1; step <= n; step = max(step+1, step*11/10) {
		steps = append(steps, step)
	}
	return steps
}

// report adds what a trial reported to its curve: the best so far, as Katib's rules have
// it. What is no value of the objective is passed over.
func (r *run) report(ctx context.Context, id int, values []float64) error {
	best := math.NaN()
	steps := shown(len(values))
	for i, y := range values {
		if better := y < best == r.minimize && y != best; -maxValue <= y && y <= maxValue && (!r.positive || y > 0) &&
			(better || math.IsNaN(best)) {
			best = y
		}
		if math.IsNaN(best) || !slices.Contains(steps, i+1) {
			continue
		}
		if _, err := r.opt.Report(ctx, id, i+1, best); err != nil {
			return err
		}
	}
	return nil
}

// logs keeps what trials that have ended reported.
type logs struct {
	mu    sync.Mutex
	known map[string][]float64 // by trial
}

// A logClient asks Katib's DB manager.
type logClient struct {
	*grpc.ClientConn
	*logs
}

func (l *logs) connect(address string) (*logClient, error) {
	if address == "" {
		return nil, errors.New("the request names no DB manager")
	}
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxLog)))
	if err != nil {
		return nil, fmt.Errorf("the DB manager %s: %w", address, err)
	}
	return &logClient{c, l}, nil
}

// maxLog bounds the bytes of what a trial reported.
const maxLog = 64 << 20

// reported returns the values of a metric that a trial that has ended reported, in order,
// NaN where one is no number.
func (c *logClient) reported(ctx context.Context, trial, metric string) ([]float64, error) {
	c.mu.Lock()
	values, known := c.known[trial]
	c.mu.Unlock()
	if known {
		return values, nil
	}
	reply, err := api.NewDBManagerClient(c.ClientConn).GetObservationLog(ctx,
		&api.GetObservationLogRequest{TrialName: trial, MetricName: metric})
	if err != nil {
		if status.Code(err) == codes.Unavailable {
			err = fmt.Errorf("%w: %w", errUnreachable, err)
		}
		return nil, fmt.Errorf("what trial %q reported, of the DB manager %s: %w", trial, c.Target(), err)
	}
	for _, l := range reply.GetObservationLog().GetMetricLogs() {
		y, err := number("the metric", l.GetMetric().GetValue())
		if err != nil {
			y = math.NaN()
		}
		values = append(values, y)
	}
	if len(values) == 0 {
		return nil, nil // perhaps not yet
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string][]float64{}
	}
	c.known[trial] = values
	return values, nil
}
