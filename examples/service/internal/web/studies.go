package web

import (
	"bytes"
	"net/http"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
)

// study finds the study that the path names.
func (s *Server) study(r *http.Request) (*study.Study, error) {
	return s.Studies.Study(r.PathValue("id"))
}

// healthy finds the study that the path names, and fails if it could not be opened.
func (s *Server) healthy(r *http.Request) (*study.Study, error) {
	t, err := s.study(r)
	if err != nil {
		return nil, err
	}
	return t, t.Damaged()
}

// summary describes a study for a list.
func summary(t *study.Study) api.Study {
	out := api.Study{ID: t.ID(), State: api.StateOK}
	if err := t.Damaged(); err != nil {
		out.State = notServed(err)
		out.Reason = messages[out.State]
		return out
	}
	m := t.Summary()
	out.Minimize, out.Optimum = t.Minimizes(), t.Optimum()
	out.Objective, out.Unit = t.Objective()
	out.Prior, out.PriorName = t.Prior()
	out.Trials, out.Observations, out.Enqueued, out.Best = m.Counts, m.Observations, m.Enqueued, best(t, m)
	return out
}

// best describes the best value, nil before the first.
func best(t *study.Study, m study.Summary) *api.Best {
	if m.Best == nil {
		return nil
	}
	return &api.Best{X: m.Best.X, Config: config(t.Space(), m.Best.X), Y: m.Best.Y, Trial: m.Best.Trial,
		Outputs: m.Best.Outputs}
}

// config names the values of a row of the space.
func config(s *cmbo.Space, x []float64) map[string]any {
	c, err := s.Config(x)
	if err != nil {
		return nil
	}
	return c
}

func details(t *study.Study) api.Study {
	out := summary(t)
	if t.Damaged() == nil {
		o := t.Options()
		out.Space, out.Options = t.Space(), &o
	}
	return out
}

func (s *Server) listStudies(*request) (int, any, error) {
	out := api.Studies{Studies: []api.Study{}}
	for _, t := range s.Studies.Studies() {
		out.Studies = append(out.Studies, summary(t))
	}
	return http.StatusOK, out, nil
}

func (s *Server) createStudy(q *request) (int, any, error) {
	var body api.NewStudy
	if err := q.decode(&body); err != nil {
		return 0, nil, err
	}
	t, again, err := s.Studies.Create(q.Context(), q.fingerprint(), &body)
	if err != nil {
		return 0, nil, err
	}
	if again {
		return http.StatusOK, details(t), nil
	}
	q.head.Set("Location", "/v1/studies/"+t.ID())
	return http.StatusCreated, details(t), nil
}

func (s *Server) showStudy(q *request) (int, any, error) {
	t, err := s.study(q.Request)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, details(t), nil
}

func (s *Server) deleteStudy(q *request) (int, any, error) {
	if err := s.Studies.Delete(q.Context(), q.PathValue("id")); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, struct{}{}, nil
}

func (s *Server) setPrior(q *request) (int, any, error) {
	var body api.SetPrior
	if err := q.decode(&body); err != nil {
		return 0, nil, err
	}
	if body.Prior == "" {
		return 0, nil, badRequest("bad_request", "prior is missing, the name or the digest of one")
	}
	t, err := s.Studies.SetPrior(q.Context(), q.PathValue("id"), body.Prior)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, details(t), nil
}

func (s *Server) best(q *request) (int, any, error) {
	t, err := s.healthy(q.Request)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, api.BestReply{Best: best(t, t.Summary())}, nil
}

func (s *Server) snapshot(q *request) (int, any, error) {
	t, err := s.healthy(q.Request)
	if err != nil {
		return 0, nil, err
	}
	var b bytes.Buffer // so that a slow reader does not hold the study up
	if err := t.Snapshot(&b); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, raw{jsonKind, b.Bytes()}, nil
}

// maxHistory bounds the steps that diagnostics tell, the newest.
const maxHistory = 1000

func (s *Server) diagnostics(q *request) (int, any, error) {
	t, err := s.healthy(q.Request)
	if err != nil {
		return 0, nil, err
	}
	step, ok, weights, err := t.LastStep(q.Context())
	if err != nil {
		return 0, nil, err
	}
	a, err := t.Advice(q.Context())
	if err != nil {
		return 0, nil, err
	}
	out := api.Diagnostics{Weights: weights}
	if a != nil {
		out.Transfer, out.Calibration, out.Outlook = transfer(&a.Transfer), calibration(&a.Calibration), outlook(&a.Outlook)
		for _, i := range a.Importance {
			out.Importance = append(out.Importance, api.Importance(i))
		}
		if r := &a.Recommended; r.X != nil {
			out.Recommendation = &api.Recommendation{Text: r.String(), X: r.X, Config: config(t.Space(), r.X),
				Mean: finite(r.Mean), SD: finite(r.SD), Values: r.Values}
		}
	}
	if ok {
		out.LastStep = lastStep(&step)
	}
	trials, _ := t.Trials("", t.Summary().Counts.Asked()-maxHistory, maxHistory)
	for _, tr := range trials {
		if tr.Weights != nil {
			out.History = append(out.History, api.Weighing{Trial: tr.ID, Weights: tr.Weights})
		}
	}
	return http.StatusOK, out, nil
}

func transfer(t *cmbo.Transfer) *api.Transfer {
	out := &api.Transfer{Verdict: t.Verdict.String(), Text: t.String(), Values: t.Values}
	for _, s := range t.Hypotheses {
		out.Shares = append(out.Shares, api.Share{Level: s.Level.String(), Tasks: s.Tasks, Mass: s.Mass,
			Reversed: s.Reversed})
	}
	return out
}

func calibration(c *cmbo.Calibration) *api.Calibration {
	return &api.Calibration{Text: c.String(), Values: len(c.Forecasts), Coverage: finite(c.Coverage),
		LogScore: finite(c.LogScore)}
}

func outlook(u *cmbo.Outlook) *api.Outlook {
	return &api.Outlook{Text: u.String(), Next: finite(u.Next), Most: finite(u.Most), Gained: finite(u.Gained),
		Feasible: finite(u.Feasible), Spent: finite(u.Spent), Left: finite(u.Left)}
}

// lastStep tells of a step at the point that was chosen.
func lastStep(st *cmbo.Step) *api.Step {
	at := func(v []float64) *float64 {
		if st.Chosen < 0 || st.Chosen >= len(v) {
			return nil
		}
		return finite(v[st.Chosen])
	}
	return &api.Step{
		Trial: st.Trial, Candidates: len(st.Mean),
		Mean: at(st.Mean), SD: at(st.SD), Score: at(st.Scores),
		Weights: st.Weights, Jitter: finite(st.Jitter),
		Parameters: finites(st.Parameters), NoiseVariance: finite(st.NoiseVariance), Shift: finite(st.Shift),
		Scale: finite(st.Scale),
	}
}
