package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
)

// webError is an error that has its answer.
type webError struct {
	status int
	detail api.Detail
}

func (e *webError) Error() string { return e.detail.Message }

func badRequest(code, format string, args ...any) error {
	return &webError{http.StatusBadRequest, api.Detail{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// badField is badRequest about a field of the body, of the query or of the header.
func badField(code, field, format string, args ...any) error {
	return &webError{http.StatusBadRequest,
		api.Detail{Code: code, Message: fmt.Sprintf(format, args...), Where: &api.Where{Field: field}}}
}

var (
	errNotServed = &webError{http.StatusNotFound,
		api.Detail{Code: "not_served", Message: "nothing is served under this path"}}
	errMethod = &webError{http.StatusMethodNotAllowed,
		api.Detail{Code: "method", Message: "the path does not take this method"}}
)

// answers tells which status and code belong to an error; the first that
// matches does.
var answers = []struct {
	err    error
	status int
	code   string
}{
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "timeout"},
	{context.Canceled, http.StatusServiceUnavailable, "cancelled"},
	{study.ErrStopped, http.StatusServiceUnavailable, "stopping"},
	{disk.ErrFull, http.StatusInsufficientStorage, "disk_full"},
	{study.ErrOtherVersion, http.StatusServiceUnavailable, api.StateOtherVersion},
	{disk.ErrDamaged, http.StatusServiceUnavailable, api.StateDamaged},
	{disk.ErrIO, http.StatusServiceUnavailable, "disk"},
	{disk.ErrMissing, http.StatusServiceUnavailable, "disk"},
	{disk.ErrClosed, http.StatusServiceUnavailable, "stopping"},

	{study.ErrUnknownStudy, http.StatusNotFound, "unknown_study"},
	{study.ErrUnknownPrior, http.StatusNotFound, "unknown_prior"},
	{cmbo.ErrUnknownTrial, http.StatusNotFound, "unknown_trial"},
	{cmbo.ErrTrialClosed, http.StatusConflict, "trial_closed"},
	{cmbo.ErrNoCandidates, http.StatusConflict, "no_candidates"},
	{cmbo.ErrBudget, http.StatusConflict, "budget"},
	{study.ErrStudyExists, http.StatusConflict, "study_exists"},
	{study.ErrNameTaken, http.StatusConflict, "name_taken"},
	{study.ErrKeyReused, http.StatusUnprocessableEntity, "key_reused"},
	{cmbo.ErrNumerical, http.StatusUnprocessableEntity, "numerical"},
	{cmbo.ErrPriorMismatch, http.StatusUnprocessableEntity, "prior_mismatch"},

	{study.ErrName, http.StatusBadRequest, "bad_name"},
	{study.ErrKey, http.StatusBadRequest, "bad_key"},
	{cmbo.ErrVersion, http.StatusBadRequest, "bad_version"},
	{study.ErrRequest, http.StatusBadRequest, "bad_request"},
	{api.ErrPoint, http.StatusBadRequest, "bad_point"},
	{cmbo.ErrSpace, http.StatusBadRequest, "bad_space"},
	{cmbo.ErrOption, http.StatusBadRequest, "bad_option"},
	{cmbo.ErrNoTasks, http.StatusBadRequest, "bad_task"},
	{cmbo.ErrTask, http.StatusBadRequest, "bad_task"},
	{cmbo.ErrDimension, http.StatusBadRequest, "bad_value"},
	{cmbo.ErrValue, http.StatusBadRequest, "bad_value"},
	{cmbo.ErrOutOfSpace, http.StatusBadRequest, "bad_value"},
	{cmbo.ErrOutput, http.StatusBadRequest, "bad_output"},
	{cmbo.ErrStep, http.StatusBadRequest, "bad_step"},
	{cmbo.ErrCorrupt, http.StatusBadRequest, "bad_data"},
}

// messages take the place of those that name files of the service.
var messages = map[string]string{
	"disk_full":      "the disk is full; nothing was changed",
	"disk":           "the disk failed; nothing was changed",
	"timeout":        "it took too long; nothing was changed",
	"cancelled":      "the client left; nothing was changed",
	api.StateDamaged: "what is stored of this is damaged; the service's log says more",
	api.StateOtherVersion: "another version of the service stored this, and can still read it; " +
		"the service's log says more, and its README, under Upgrades, how to go on",
}

// answer returns the status and the body for an error.
func answer(err error) (int, api.Detail) {
	var web *webError
	if errors.As(err, &web) {
		return web.status, web.detail
	}
	var damaged *study.DamagedError
	if errors.As(err, &damaged) {
		state := notServed(err)
		return http.StatusServiceUnavailable, api.Detail{Code: state, Message: messages[state]}
	}
	var limit *study.LimitError
	if errors.As(err, &limit) {
		status := http.StatusBadRequest
		if limit.Kept {
			status = http.StatusConflict
		}
		return status, api.Detail{Code: "limit", Message: err.Error(), Where: &api.Where{Limit: limit.Limit}}
	}
	var used *study.PriorInUseError
	if errors.As(err, &used) {
		return http.StatusConflict, api.Detail{Code: "prior_in_use", Message: err.Error(), Where: &api.Where{Studies: used.Studies}}
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			d := api.Detail{Code: a.code, Message: messages[a.code], Where: where(err)}
			switch {
			case errors.Is(err, study.ErrRemoved):
				d.Message = study.ErrRemoved.Error()
			case d.Message == "":
				d.Message = text(err)
			}
			return a.status, d
		}
	}
	if d, ok := notJSON(err); ok {
		return http.StatusBadRequest, d
	}
	return http.StatusInternalServerError, api.Detail{Code: "internal", Message: "the service failed; its log says more"}
}

// notServed is the state of a study that could not be opened.
func notServed(err error) string {
	if errors.Is(err, study.ErrOtherVersion) {
		return api.StateOtherVersion
	}
	return api.StateDamaged
}

// text is an error in words that concern the service.
func text(err error) string {
	s := err.Error()
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		s = strings.Replace(s, kind.Error(), misfit(kind), 1)
	}
	return words.Replace(s)
}

// words are those of the library's Go, and what requests call the same.
var words = strings.NewReplacer(
	"Policy: history.Skip", `"skip": true`, "CSV.Comma says", `"separator" says`, "Katib.Metric says", `"value" says`,
	"set Katib.Direction", `set "minimize"`, "cmbo: ", "", "history: ", "",
	"Prior.Adopt brings a prior to another space", "POST /v1/priors/{name}/adopt brings a prior to another space",
	"Changes.Renamed or Defaults", `"renamed" or "defaults"`, "(Space.Adopt)", "(POST /v1/priors/{name}/adopt)",
	"; Space.Adopt drops it", "; POST /v1/priors/{name}/adopt drops it from a prior",
	"WithPositiveValues", "positive_values", "WithContext", "context", ": see Sampler", "",
	"json.Number", "number", "[]interface {}", "list", "map[string]interface {}", "object",
)

// where tells the place a cmbo error names, nil if it names none.
func where(err error) *api.Where {
	var f *study.FileError
	if errors.As(err, &f) {
		w := &api.Where{File: &f.File}
		var row *history.RowError
		if errors.As(err, &row) {
			w.Line, w.Task, w.Field = row.Line, row.Task, row.Field
		}
		return w
	}
	var d *cmbo.DataError
	if !errors.As(err, &d) {
		return nil
	}
	w := &api.Where{Task: d.Task, Name: d.Name}
	if d.Row >= 0 {
		w.Row = &d.Row
	}
	if d.Column >= 0 {
		w.Column = &d.Column
	}
	if d.Value != 0 {
		w.Value = finite(d.Value)
	}
	if reflect.ValueOf(*w).IsZero() {
		return nil
	}
	return w
}

// notJSON describes what encoding/json did not like.
func notJSON(err error) (api.Detail, bool) {
	d := api.Detail{Code: "json", Message: "the body is not the JSON expected: " + strings.TrimPrefix(err.Error(),
		"json: ")}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		d.Where = &api.Where{Offset: syntax.Offset}
	case errors.As(err, &kind):
		d.Where = &api.Where{Field: kind.Field, Offset: kind.Offset}
		d.Message = "the body is not the JSON expected: " + misfit(kind)
	case !errors.Is(err, api.ErrRow) && !strings.HasPrefix(err.Error(), "json: "): // such as an unknown field
		return api.Detail{}, false
	}
	return d, true
}

// misfit says what was sent in place of what.
func misfit(e *json.UnmarshalTypeError) string {
	s := fmt.Sprintf("%s where %s belongs", e.Value, belongs(e.Type))
	number, ok := strings.CutPrefix(e.Value, "number ")
	if k := e.Type.Kind(); ok && (k == reflect.Float64 || !strings.ContainsAny(number, "-.eE")) {
		s = e.Value + ", which is too large"
	}
	if e.Field != "" {
		s += ", in " + e.Field
	}
	return s
}

// belongs names the JSON that a type is read from.
func belongs(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Float64:
		return "a number"
	case reflect.Int:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Pointer:
		return belongs(t.Elem())
	}
	return "an object"
}

// refuse writes an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, d := answer(err)
	if status >= 500 && !errors.Is(err, context.Canceled) {
		s.logFor(r.Context()).Error("failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	if out, ok := w.(*response); ok {
		out.code = d.Code
	}
	if status == http.StatusServiceUnavailable && !api.Lasting(d.Code) {
		w.Header().Set("Retry-After", "1")
	}
	s.reply(w, status, &api.Error{Error: d})
}

// finite returns a number for JSON, nil for what JSON has no form of.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func finites(vs []float64) []*float64 {
	if vs == nil {
		return nil
	}
	out := make([]*float64, len(vs))
	for i, v := range vs {
		out[i] = finite(v)
	}
	return out
}
