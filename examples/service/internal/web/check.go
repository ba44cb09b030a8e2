package web

import (
	"net/http"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
)

func (s *Server) check(q *request) (int, any, error) {
	var body api.Check
	if err := q.decode(&body); err != nil {
		return 0, nil, err
	}
	r, files, err := s.Studies.Check(q.Context(), &body)
	if err != nil {
		return 0, nil, err
	}
	out := api.CheckReport{
		Verdict: r.Verdict.String(), Text: r.String(), Tasks: []api.CheckedTask{},
		Difference: finite(r.Difference), StandardError: finite(r.StandardError), Reversed: r.Reversed, Files: files,
	}
	for _, t := range r.Tasks {
		out.Tasks = append(out.Tasks, api.CheckedTask{ID: t.ID, With: replay(t.With), Without: replay(t.Without),
			Transfer: *transfer(&t.Transfer)})
	}
	return http.StatusOK, out, nil
}

func replay(r cmbo.Replay) api.Replay {
	return api.Replay{Regret: r.Regret, Evaluations: r.Evaluations}
}
