package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
)

// trial describes a trial.
func trial(s *cmbo.Space, t study.Trial) api.Trial {
	out := api.Trial{ID: t.ID, Status: t.Status, X: t.X, Config: config(s, t.X), NoiseVariance: t.Noise}
	if t.Index >= 0 {
		out.Index = &t.Index
	}
	if t.Status == api.Told {
		out.Y = &t.Y
	}
	out.Enqueued, out.Outputs, out.Resumes = t.Enqueued, t.Outputs, t.Resumes
	if t.Expected != nil && t.Status == api.Told { // not before: a restart forgets it
		out.Expected = new(api.Prediction)
		*out.Expected = prediction(*t.Expected)
	}
	if t.Steps != nil {
		out.Curve = &api.Curve{Steps: t.Steps, Values: t.Values, Stopped: t.Status == api.Stopped}
	}
	if t.Deadline.At != 0 {
		out.Deadline = time.UnixMilli(t.Deadline.At).UTC().Format(time.RFC3339)
		out.Expired = t.Expired
	}
	return out
}

func prediction(f study.Forecast) api.Prediction {
	p := api.Prediction{Mean: finite(f.Mean), SD: finite(f.SD)}
	if f.Low < f.High || f.Median != 0 {
		p.Low, p.Median, p.High = finite(f.Low), finite(f.Median), finite(f.High)
	}
	return p
}

// longest is the longest time until a deadline, in seconds: ten years.
const longest = 10 * 365.25 * 24 * 3600

// deadline reads when the trials asked for end by themselves, from the time at which they are opened; nil for never.
func (s *Server) deadline(a *api.Ask) (func() study.Deadline, error) {
	switch {
	case a.OnDeadline != "" && a.OnDeadline != "cancel" && a.OnDeadline != "fail":
		return nil, badField("bad_value", "on_deadline", "on_deadline must be cancel or fail")
	case a.OnDeadline != "" && a.DeadlineSeconds == nil:
		return nil, badField("bad_value", "deadline_seconds", "on_deadline without deadline_seconds")
	case a.DeadlineSeconds == nil:
		return nil, nil
	case !(*a.DeadlineSeconds > 0 && *a.DeadlineSeconds <= longest):
		return nil, badField("bad_value", "deadline_seconds", "deadline_seconds must be above 0 and at most %.0f", longest)
	}
	after, fail := int64(math.Ceil(*a.DeadlineSeconds*1000)), a.OnDeadline == "fail"
	return func() study.Deadline { return study.Deadline{At: s.Now().UnixMilli() + after, Fail: fail} }, nil
}

// trialID reads the trial that the path names. What is no number names none.
func trialID(q *request) (int, error) {
	s := q.PathValue("trial")
	id, err := strconv.Atoi(s)
	if err != nil || id < 1 || s[0] == '+' || s[0] == '0' {
		return 0, cmbo.ErrUnknownTrial
	}
	return id, nil
}

// changed replies to a request that changed a study.
func (q *request) changed(again bool, reply any) (int, any, error) {
	if again {
		q.head.Set("Idempotency-Replayed", "true")
	}
	return http.StatusOK, reply, nil
}

// posted finds the study that the path names, decodes the body and returns what
// identifies the request.
func (s *Server) posted(q *request, body any) (t *study.Study, id study.Request, err error) {
	if t, err = s.healthy(q.Request); err == nil {
		err = q.decode(body)
	}
	if err == nil {
		id, err = q.change()
	}
	return t, id, err
}

func (s *Server) ask(q *request) (int, any, error) {
	var body api.Ask
	t, id, err := s.posted(q, &body)
	if err != nil {
		return 0, nil, err
	}
	n := 1
	if body.N != nil {
		n = *body.N
	}
	deadline, err := s.deadline(&body)
	if err != nil {
		return 0, nil, err
	}
	r, again, err := t.Ask(q.Context(), id, n, deadline)
	if err != nil {
		return 0, nil, err
	}
	var out api.Trials
	for _, id := range r.Trials {
		if tr, ok := t.Trial(id); ok {
			out.Trials = append(out.Trials, trial(t.Space(), tr))
		}
	}
	return q.changed(again, out)
}

// end answers the trial that the path names by f.
func (s *Server) end(q *request, body any,
	f func(t *study.Study, r study.Request, id int) (study.Reply, bool, error)) (int, any, error) {
	return s.about(q, body, func(t *study.Study, r study.Request, id int) (any, bool, error) {
		_, again, err := f(t, r, id)
		if err != nil {
			return nil, false, err
		}
		tr, _ := t.Trial(id)
		return trial(t.Space(), tr), again, nil
	})
}

// about does what f does with the trial that the path names, and replies what it returns.
func (s *Server) about(q *request, body any,
	f func(t *study.Study, r study.Request, id int) (any, bool, error)) (int, any, error) {
	t, r, err := s.posted(q, body)
	if err != nil {
		return 0, nil, err
	}
	id, err := trialID(q)
	if err != nil {
		return 0, nil, err
	}
	reply, again, err := f(t, r, id)
	if err != nil {
		if tr, known := t.Trial(id); known && errors.Is(err, cmbo.ErrTrialClosed) {
			return 0, nil, &webError{http.StatusConflict, api.Detail{Code: "trial_closed",
				Message: fmt.Sprintf("trial %d was %s", id, tr.Status), Where: &api.Where{Trial: id, Status: tr.Status}}}
		}
		return 0, nil, err
	}
	return q.changed(again, reply)
}

// measured checks what was measured.
func measured(y, noise *float64, outputs api.Values) (study.Measured, error) {
	if y == nil {
		return study.Measured{}, badField("bad_value", "y", "y is missing, the value measured")
	}
	m := study.Measured{Y: *y, Outputs: outputs}
	if noise == nil {
		return m, nil
	}
	if m.Noise = *noise; !(m.Noise > 0) || math.IsInf(m.Noise, 0) {
		return study.Measured{}, badField("bad_value", "noise_variance", "noise_variance must be above 0")
	}
	return m, nil
}

func (s *Server) tell(q *request) (int, any, error) {
	var body api.Tell
	return s.end(q, &body, func(t *study.Study, r study.Request, id int) (study.Reply, bool, error) {
		m, err := measured(body.Y, body.NoiseVariance, body.Outputs)
		if err != nil {
			return study.Reply{}, false, err
		}
		return t.Tell(q.Context(), r, id, m)
	})
}

func (s *Server) fail(q *request) (int, any, error) {
	var body api.Fail
	return s.end(q, &body, func(t *study.Study, r study.Request, id int) (study.Reply, bool, error) {
		return t.Fail(q.Context(), r, id, body.Outputs)
	})
}

func (s *Server) cancel(q *request) (int, any, error) {
	return s.end(q, &struct{}{}, func(t *study.Study, r study.Request, id int) (study.Reply, bool, error) {
		return t.Cancel(q.Context(), r, id)
	})
}

func (s *Server) stop(q *request) (int, any, error) {
	var body api.Stop
	return s.end(q, &body, func(t *study.Study, r study.Request, id int) (study.Reply, bool, error) {
		return t.TellStopped(q.Context(), r, id, body.Outputs)
	})
}

func (s *Server) report(q *request) (int, any, error) {
	var body api.Report
	return s.about(q, &body, func(t *study.Study, r study.Request, id int) (any, bool, error) {
		switch {
		case body.Step == nil:
			return nil, false, badField("bad_value", "step", "step is missing")
		case body.Y == nil:
			return nil, false, badField("bad_value", "y", "y is missing")
		}
		p, again, err := t.Report(q.Context(), r, id, *body.Step, *body.Y)
		if err != nil {
			return nil, false, err
		}
		if p == nil {
			return api.Prospect{Text: fmt.Sprintf("continue: the value of step %d is kept; what it says of the end could not be computed", *body.Step)}, again, nil
		}
		words := p.String()
		if p.Diverged {
			words = fmt.Sprintf("stop: the value of step %d is beyond 1e150, and trial %d has failed", p.Step, p.Trial)
		}
		return api.Prospect{
			Stop: p.Stop, Diverged: p.Diverged, Text: words, Mean: finite(p.Mean), SD: finite(p.SD), Best: finite(p.Best),
			Chance: finite(p.Chance), Before: finite(p.Before), Curves: p.Curves, Known: p.Known,
		}, again, nil
	})
}

func (s *Server) observe(q *request) (int, any, error) {
	var body api.Observe
	t, id, err := s.posted(q, &body)
	if err != nil {
		return 0, nil, err
	}
	x, err := body.Row(t.Space())
	if err != nil {
		return 0, nil, err
	}
	m, err := measured(body.Y, body.NoiseVariance, body.Outputs)
	if err != nil {
		return 0, nil, err
	}
	r, again, err := t.Observe(q.Context(), id, x, m)
	if err != nil {
		return 0, nil, err
	}
	return q.changed(again, api.Observed{Observations: r.Observations})
}

func (s *Server) enqueue(q *request) (int, any, error) {
	var body api.Point
	t, id, err := s.posted(q, &body)
	if err != nil {
		return 0, nil, err
	}
	x, err := body.Row(t.Space())
	if err != nil {
		return 0, nil, err
	}
	r, again, err := t.Enqueue(q.Context(), id, x)
	if err != nil {
		return 0, nil, err
	}
	return q.changed(again, api.Enqueued{Enqueued: r.Enqueued})
}

func (s *Server) predict(q *request) (int, any, error) {
	var body api.Predict
	t, _, err := s.posted(q, &body)
	if err != nil {
		return 0, nil, err
	}
	var points [][]float64
	for i := range body.Points {
		x, err := body.Points[i].Row(t.Space())
		if err != nil {
			return 0, nil, atPoint(err, i)
		}
		points = append(points, x)
	}
	fs, err := t.Predict(q.Context(), points)
	if err != nil {
		return 0, nil, err
	}
	out := api.Predictions{Predictions: make([]api.Prediction, len(fs))}
	for i, f := range fs {
		out.Predictions[i] = prediction(f)
	}
	return http.StatusOK, out, nil
}

// atPoint adds which point an error is about.
func atPoint(err error, i int) error {
	status, d := answer(err)
	if d.Where == nil {
		d.Where = &api.Where{}
	}
	d.Where.Row = &i
	return &webError{status, d}
}

// maxTrials bounds the trials of one reply.
const maxTrials = 1000

func (s *Server) listTrials(q *request) (int, any, error) {
	t, err := s.healthy(q.Request)
	if err != nil {
		return 0, nil, err
	}
	after, err := q.number("after", 0, 0, math.MaxInt32)
	if err != nil {
		return 0, nil, err
	}
	limit, err := q.number("limit", 100, 1, maxTrials)
	if err != nil {
		return 0, nil, err
	}
	status := q.URL.Query().Get("status")
	if status != "" && !slices.Contains([]string{api.Open, api.Told, api.Failed, api.Cancelled, api.Stopped}, status) {
		return 0, nil, badField("bad_request", "status", "status must be open, told, failed, cancelled or stopped")
	}
	list, more := t.Trials(status, after, limit)
	out := api.Trials{Trials: []api.Trial{}, More: more}
	for _, tr := range list {
		out.Trials = append(out.Trials, trial(t.Space(), tr))
	}
	return http.StatusOK, out, nil
}

func (s *Server) showTrial(q *request) (int, any, error) {
	t, err := s.healthy(q.Request)
	if err != nil {
		return 0, nil, err
	}
	id, err := trialID(q)
	if err != nil {
		return 0, nil, err
	}
	tr, ok := t.Trial(id)
	if !ok {
		return 0, nil, cmbo.ErrUnknownTrial
	}
	return http.StatusOK, trial(t.Space(), tr), nil
}
