package web

import (
	"net/http"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
)

// priorReply describes a prior, unless there is an error.
func priorReply(p study.PriorInfo, err error) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, prior(p), nil
}

func prior(p study.PriorInfo) api.Prior {
	out := api.Prior{
		Digest: p.Digest, Names: p.Names, Bytes: p.Bytes,
		Minimize: p.Prior.Minimizes(), Positive: p.Prior.PositiveValues(), Tasks: p.Prior.NumTasks(),
	}
	out.Space, out.Files, out.Outputs = p.Prior.Space(), p.Files, p.Prior.Outputs()
	return out
}

func (s *Server) listPriors(*request) (int, any, error) {
	out := api.Priors{Priors: []api.Prior{}}
	for _, p := range s.Studies.Priors() {
		out.Priors = append(out.Priors, api.Prior{Digest: p.Digest, Names: p.Names, Bytes: p.Bytes})
	}
	return http.StatusOK, out, nil
}

func (s *Server) learnPrior(q *request) (int, any, error) {
	var body api.NewPrior
	if err := q.decode(&body); err != nil {
		return 0, nil, err
	}
	return priorReply(s.Studies.LearnPrior(q.Context(), &body))
}

// maxProblems bounds the rows that the report on an adoption tells of.
const maxProblems = 20

func (s *Server) adopt(q *request) (int, any, error) {
	var body api.Adopt
	if err := q.decode(&body); err != nil {
		return 0, nil, err
	}
	p, a, err := s.Studies.Adopt(q.Context(), q.PathValue("name"), &body)
	if err != nil {
		return 0, nil, err
	}
	out := api.Adopted{Prior: prior(p), Adoption: api.Adoption{Text: a.String(), Rows: a.Rows, Snapped: a.Snapped,
		Filled: a.Filled, Dropped: a.Dropped, Outside: len(a.Outside)}}
	for _, e := range a.Outside[:min(len(a.Outside), maxProblems)] {
		out.Adoption.Problems = append(out.Adoption.Problems, text(e))
	}
	return http.StatusOK, out, nil
}

func (s *Server) putPrior(q *request) (int, any, error) {
	return priorReply(s.Studies.AddPrior(q.Context(), q.PathValue("name"), q.body))
}

func (s *Server) showPrior(q *request) (int, any, error) {
	return priorReply(s.Studies.Prior(q.Context(), q.PathValue("name")))
}

func (s *Server) deletePrior(q *request) (int, any, error) {
	if err := s.Studies.DeletePrior(q.PathValue("name")); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, struct{}{}, nil
}

func (s *Server) encodedPrior(q *request) (int, any, error) {
	b, err := s.Studies.EncodedPrior(q.PathValue("name"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, raw{binaryKind, b}, nil
}
