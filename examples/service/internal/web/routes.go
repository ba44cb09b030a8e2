package web

import (
	"net/http"

	"github.com/gocmbo/cmbo/examples/service/api"
)

// A route is a request that the JSON interface takes.
type route struct {
	method, path string
	limit        int64 // bytes of its body, 0 for none
	serve        func(*request) (status int, reply any, err error)

	// The rest is for those who read about it: the types of the body and of the reply
	// or, where they are not JSON, their kinds.
	summary             string
	body, reply         any
	bodyKind, replyKind string
	query               []parameter
	status              int // of success, 200 if 0
}

// A parameter is one of the query.
type parameter struct {
	name, summary string
	number        bool
	values        []string
}

// routes lists all, in the order in which they are told.
func (s *Server) routes() []*route {
	large := s.Body
	status := parameter{name: "status", summary: "of the trials; any if it is not given",
		values: []string{api.Open, api.Told, api.Failed, api.Cancelled, api.Stopped}}
	after := parameter{name: "after", summary: "the trial after which the list begins", number: true}
	most := parameter{name: "limit", summary: "how many trials at most, 100 if it is not given, up to 1000", number: true}
	return []*route{
		{method: "GET", path: "/v1/studies", serve: s.listStudies, summary: "lists studies", reply: api.Studies{}},
		{method: "POST", path: "/v1/studies", limit: large, serve: s.createStudy, summary: "creates a study; the same again finds it", body: api.NewStudy{}, reply: api.Study{}, status: http.StatusCreated},
		{method: "GET", path: "/v1/studies/{id}", serve: s.showStudy, summary: "describes a study", reply: api.Study{}},
		{method: "DELETE", path: "/v1/studies/{id}", serve: s.deleteStudy, summary: "removes a study for good",
			reply: struct{}{}},
		{method: "PUT", path: "/v1/studies/{id}/prior", limit: smallBody, serve: s.setPrior,
			summary: "has a study go on with another prior", body: api.SetPrior{}, reply: api.Study{}},
		{method: "POST", path: "/v1/studies/{id}/ask", limit: smallBody, serve: s.ask, summary: "opens trials",
			body: api.Ask{}, reply: api.Trials{}},
		{method: "POST", path: "/v1/studies/{id}/trials/{trial}/tell",
			limit: smallBody, serve: s.tell, summary: "answers a trial with a value", body: api.Tell{}, reply: api.Trial{}},
		{method: "POST", path: "/v1/studies/{id}/trials/{trial}/fail", limit: smallBody, serve: s.fail,
			summary: "says that a trial's evaluation failed", body: api.Fail{}, reply: api.Trial{}},
		{method: "POST", path: "/v1/studies/{id}/trials/{trial}/cancel", limit: smallBody, serve: s.cancel,
			summary: "says that a trial will not be evaluated", body: struct{}{}, reply: api.Trial{}},
		{method: "POST", path: "/v1/studies/{id}/trials/{trial}/report", limit: smallBody, serve: s.report, summary: "adds a value that a trial's evaluation shows before its end, and says whether to go on", body: api.Report{}, reply: api.Prospect{}},
		{method: "POST", path: "/v1/studies/{id}/trials/{trial}/stop", limit: smallBody, serve: s.stop, summary: "says that a trial's evaluation was stopped before its end; its curve stands for it", body: api.Stop{}, reply: api.Trial{}},
		{method: "POST", path: "/v1/studies/{id}/observe", limit: smallBody, serve: s.observe,
			summary: "adds a value at a point that was not proposed", body: api.Observe{}, reply: api.Observed{}},
		{method: "POST", path: "/v1/studies/{id}/enqueue", limit: smallBody, serve: s.enqueue,
			summary: "has a point proposed before the model's own", body: api.Point{}, reply: api.Enqueued{}},
		{method: "POST", path: "/v1/studies/{id}/predict", limit: smallBody, serve: s.predict,
			summary: "mean, standard deviation and quantiles at points", body: api.Predict{}, reply: api.Predictions{}},
		{method: "GET", path: "/v1/studies/{id}/best", serve: s.best, summary: "the best value", reply: api.BestReply{}},
		{method: "GET", path: "/v1/studies/{id}/trials", serve: s.listTrials, summary: "lists trials",
			query: []parameter{status, after, most}, reply: api.Trials{}},
		{method: "GET", path: "/v1/studies/{id}/trials/{trial}", serve: s.showTrial, summary: "describes a trial",
			reply: api.Trial{}},
		{method: "GET", path: "/v1/studies/{id}/diagnostics", serve: s.diagnostics, summary: "whether the past helps, calibration, what is left to gain, weights and the last step", reply: api.Diagnostics{}},
		{method: "GET", path: "/v1/studies/{id}/events", serve: s.events, summary: "what happens in a study, as it does: server-sent events, data of each an Event", reply: api.Event{}, replyKind: eventKind,
			query: []parameter{{name: "after", summary: "the number of the event after which the stream begins; the header Last-Event-ID says the same", number: true}}},
		{method: "GET", path: "/v1/studies/{id}/snapshot",
			serve: s.snapshot, summary: "the study in the form that cmbo.Restore reads", reply: map[string]any{}},
		{method: "GET", path: "/v1/priors", serve: s.listPriors, summary: "lists priors", reply: api.Priors{}},
		{method: "POST", path: "/v1/priors", limit: large, serve: s.learnPrior, summary: "learns a prior",
			body: api.NewPrior{}, reply: api.Prior{}},
		{method: "PUT", path: "/v1/priors/{name}", limit: large, serve: s.putPrior,
			summary: "takes an encoded prior under a name", bodyKind: binaryKind, reply: api.Prior{}},
		{method: "GET", path: "/v1/priors/{name}", serve: s.showPrior, summary: "describes the prior of a name or a digest",
			reply: api.Prior{}},
		{method: "DELETE", path: "/v1/priors/{name}", serve: s.deletePrior,
			summary: "removes the prior of a name or a digest for good, with all its names", reply: struct{}{}},
		{method: "GET", path: "/v1/priors/{name}/encoded", serve: s.encodedPrior, summary: "an encoded prior",
			replyKind: binaryKind},
		{method: "POST", path: "/v1/priors/{name}/adopt", limit: large, serve: s.adopt,
			summary: "brings a prior to a space whose parameters have changed", body: api.Adopt{}, reply: api.Adopted{}},
		{method: "POST", path: "/v1/check", limit: large, serve: s.check, summary: "says whether transfer helps on past tasks, by leaving out one at a time", body: api.Check{}, reply: api.CheckReport{}},
		{method: "GET", path: healthPath, serve: s.health, summary: "that the service is up", reply: api.Health{}},
		{method: "GET", path: "/v1/openapi.json", serve: s.openapi, summary: "this description, in the form of OpenAPI 3.0",
			reply: map[string]any{}},
	}
}
