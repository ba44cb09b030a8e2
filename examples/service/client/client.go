// Package client calls the service.
//
//	c := &client.Client{Base: "http://127.0.0.1:8080"}
//	trials, err := c.Ask(ctx, "study", 1)
//	err = c.Tell(ctx, "study", trials[0].ID, y)
//
// Every call is sent again when the connection breaks or the service says that it
// cannot do it at the moment, those that change a study with the same random key.
// So each call is done at most once, even if the service is killed between doing
// it and answering.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/examples/service/api"
)

// A Client calls a service. It is safe for concurrent use; its fields must not
// change once it is used.
type Client struct {
	// Base is the service's address, such as "http://127.0.0.1:8080".
	Base string
	// Token is shown to a service that wants one.
	Token string
	// HTTP sends requests; nil for http.DefaultClient.
	HTTP *http.Client
	// Attempts bounds how often a request is sent; 0 stands for 8, with pauses
	// that add up to some 13 seconds.
	Attempts int
	// NewKey makes keys of requests; nil for 128 random bits. A caller who
	// wants to know what became of a request after a crash of its own stores
	// the key before.
	NewKey func() string
}

// An Error is an answer that is not a success.
type Error struct {
	Status int
	api.Detail
}

// Error tells the status, the code and the message.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// Code returns the code of an answer that was not a success, such as
// "no_candidates"; empty for other errors.
func Code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

const (
	attempts  = 8
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
)

// call sends a request, several times if need be, and decodes the reply.
func (c *Client) call(ctx context.Context, method, path string, body, reply any) error {
	var content []byte
	kind := "application/json"
	switch b := body.(type) {
	case nil:
	case []byte:
		content, kind = b, "application/octet-stream"
	default:
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	key := ""
	if method == http.MethodPost {
		key = c.key()
	}
	n := c.Attempts
	if n < 1 {
		n = attempts
	}
	wait := firstWait
	for again := false; ; again = true {
		err := c.send(ctx, method, path, key, kind, content, reply)
		if code := Code(err); again && method == http.MethodDelete && (code == "unknown_study" || code == "unknown_prior") {
			return nil // it was deleted before, and the answer was lost
		}
		if n--; err == nil || n == 0 || !passing(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
		wait = min(2*wait, longWait)
	}
}

func (c *Client) key() string {
	if c.NewKey != nil {
		return c.NewKey()
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// passing reports whether trouble may pass: no answer, or one that says so.
func passing(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return true
	}
	return e.Status == http.StatusServiceUnavailable && !api.Lasting(e.Code) || e.Status == http.StatusInsufficientStorage
}

func (c *Client) send(ctx context.Context, method, path, key, kind string, content []byte, reply any) error {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	if content != nil {
		r.Header.Set("Content-Type", kind)
	}
	if key != "" {
		r.Header.Set(api.KeyHeader, key)
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	resp, err := h.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		e := &Error{Status: resp.StatusCode}
		var body api.Error
		if json.Unmarshal(b, &body) == nil {
			e.Detail = body.Error
		}
		return e
	}
	switch out := reply.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = b
		return nil
	}
	return json.Unmarshal(b, reply)
}

func studyPath(id, rest string) string { return "/v1/studies/" + url.PathEscape(id) + rest }

func trialPath(id string, trial int, rest string) string {
	return studyPath(id, "/trials/"+strconv.Itoa(trial)+rest)
}

// CreateStudy creates a study. Sent again with the same content, it returns the
// study that is there.
func (c *Client) CreateStudy(ctx context.Context, s *api.NewStudy) (*api.Study, error) {
	out := new(api.Study)
	return out, c.call(ctx, http.MethodPost, "/v1/studies", s, out)
}

// Study describes a study.
func (c *Client) Study(ctx context.Context, id string) (*api.Study, error) {
	out := new(api.Study)
	return out, c.call(ctx, http.MethodGet, studyPath(id, ""), nil, out)
}

// Studies lists all studies.
func (c *Client) Studies(ctx context.Context) ([]api.Study, error) {
	var out api.Studies
	err := c.call(ctx, http.MethodGet, "/v1/studies", nil, &out)
	return out.Studies, err
}

// DeleteStudy removes a study for good.
func (c *Client) DeleteStudy(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, studyPath(id, ""), nil, nil)
}

// SetPrior has a study go on with the prior of a name or a digest.
func (c *Client) SetPrior(ctx context.Context, id, ref string) (*api.Study, error) {
	out := new(api.Study)
	return out, c.call(ctx, http.MethodPut, studyPath(id, "/prior"), api.SetPrior{Prior: ref}, out)
}

// Ask opens up to n trials.
func (c *Client) Ask(ctx context.Context, id string, n int) ([]api.Trial, error) {
	return c.AskWith(ctx, id, &api.Ask{N: &n})
}

// AskWith opens trials with a deadline.
func (c *Client) AskWith(ctx context.Context, id string, ask *api.Ask) ([]api.Trial, error) {
	var out api.Trials
	err := c.call(ctx, http.MethodPost, studyPath(id, "/ask"), ask, &out)
	return out.Trials, err
}

// Tell answers a trial.
func (c *Client) Tell(ctx context.Context, id string, trial int, y float64) error {
	return c.call(ctx, http.MethodPost, trialPath(id, trial, "/tell"), api.Tell{Y: &y}, nil)
}

// TellNoisy answers a trial with a value whose error has a known variance.
func (c *Client) TellNoisy(ctx context.Context, id string, trial int, y, variance float64) error {
	return c.call(ctx, http.MethodPost, trialPath(id, trial, "/tell"), api.Tell{Y: &y, NoiseVariance: &variance}, nil)
}

// TellWith answers a trial with all that was measured.
func (c *Client) TellWith(ctx context.Context, id string, trial int, tell *api.Tell) error {
	return c.call(ctx, http.MethodPost, trialPath(id, trial, "/tell"), tell, nil)
}

// Fail says that a trial's evaluation failed.
func (c *Client) Fail(ctx context.Context, id string, trial int) error {
	return c.FailWith(ctx, id, trial, &api.Fail{})
}

// FailWith says so with what the evaluation brought all the same.
func (c *Client) FailWith(ctx context.Context, id string, trial int, fail *api.Fail) error {
	return c.call(ctx, http.MethodPost, trialPath(id, trial, "/fail"), fail, nil)
}

// Cancel takes a trial back.
func (c *Client) Cancel(ctx context.Context, id string, trial int) error {
	return c.call(ctx, http.MethodPost, trialPath(id, trial, "/cancel"), struct{}{}, nil)
}

// Report adds a value that a trial's evaluation shows before its end to the trial's curve,
// and tells whether to go on.
func (c *Client) Report(ctx context.Context, id string, trial, step int, y float64) (*api.Prospect, error) {
	out := new(api.Prospect)
	return out, c.call(ctx, http.MethodPost, trialPath(id, trial, "/report"), api.Report{Step: &step, Y: &y}, out)
}

// TellStopped ends a trial whose evaluation was stopped before its end.
func (c *Client) TellStopped(ctx context.Context, id string, trial int) error {
	return c.TellStoppedWith(ctx, id, trial, &api.Stop{})
}

// TellStoppedWith says so with what the evaluation cost up to then.
func (c *Client) TellStoppedWith(ctx context.Context, id string, trial int, stop *api.Stop) error {
	return c.call(ctx, http.MethodPost, trialPath(id, trial, "/stop"), stop, nil)
}

// Observe adds a value at a point that was not proposed and returns the number
// of observations.
func (c *Client) Observe(ctx context.Context, id string, x []float64, y float64) (int, error) {
	return c.ObserveWith(ctx, id, &api.Observe{Point: api.Point{X: x}, Y: &y})
}

// ObserveWith adds all that was measured at such a point.
func (c *Client) ObserveWith(ctx context.Context, id string, o *api.Observe) (int, error) {
	var out api.Observed
	err := c.call(ctx, http.MethodPost, studyPath(id, "/observe"), o, &out)
	return out.Observations, err
}

// Enqueue has a point proposed before the model's own and returns the number of
// points that wait.
func (c *Client) Enqueue(ctx context.Context, id string, x []float64) (int, error) {
	var out api.Enqueued
	err := c.call(ctx, http.MethodPost, studyPath(id, "/enqueue"), api.Point{X: x}, &out)
	return out.Enqueued, err
}

// Best returns the best value so far, nil before the first.
func (c *Client) Best(ctx context.Context, id string) (*api.Best, error) {
	var out api.BestReply
	err := c.call(ctx, http.MethodGet, studyPath(id, "/best"), nil, &out)
	return out.Best, err
}

// Trial returns a trial.
func (c *Client) Trial(ctx context.Context, id string, trial int) (*api.Trial, error) {
	out := new(api.Trial)
	return out, c.call(ctx, http.MethodGet, trialPath(id, trial, ""), nil, out)
}

// Trials returns all trials of a status, of any if it is empty.
func (c *Client) Trials(ctx context.Context, id, status string) ([]api.Trial, error) {
	var all []api.Trial
	for {
		after := 0
		if len(all) > 0 {
			after = all[len(all)-1].ID
		}
		q := url.Values{"limit": {"1000"}, "after": {strconv.Itoa(after)}}
		if status != "" {
			q.Set("status", status)
		}
		var out api.Trials
		if err := c.call(ctx, http.MethodGet, studyPath(id, "/trials?"+q.Encode()), nil, &out); err != nil {
			return nil, err
		}
		all = append(all, out.Trials...)
		if !out.More {
			return all, nil
		}
	}
}

// Predict returns what the model expects at points.
func (c *Client) Predict(ctx context.Context, id string, points []api.Point) ([]api.Prediction, error) {
	var out api.Predictions
	err := c.call(ctx, http.MethodPost, studyPath(id, "/predict"), api.Predict{Points: points}, &out)
	return out.Predictions, err
}

// Diagnostics tells how a study chooses.
func (c *Client) Diagnostics(ctx context.Context, id string) (*api.Diagnostics, error) {
	out := new(api.Diagnostics)
	return out, c.call(ctx, http.MethodGet, studyPath(id, "/diagnostics"), nil, out)
}

// Snapshot returns a study in the form that cmbo.Restore reads.
func (c *Client) Snapshot(ctx context.Context, id string) ([]byte, error) {
	var out []byte
	err := c.call(ctx, http.MethodGet, studyPath(id, "/snapshot"), nil, &out)
	return out, err
}

// LearnPrior has the service learn a prior.
func (c *Client) LearnPrior(ctx context.Context, p *api.NewPrior) (*api.Prior, error) {
	out := new(api.Prior)
	return out, c.call(ctx, http.MethodPost, "/v1/priors", p, out)
}

// Adopt brings the prior of a name or a digest to a space whose parameters have
// changed.
func (c *Client) Adopt(ctx context.Context, ref string, a *api.Adopt) (*api.Adopted, error) {
	out := new(api.Adopted)
	return out, c.call(ctx, http.MethodPost, "/v1/priors/"+url.PathEscape(ref)+"/adopt", a, out)
}

// Check says whether transfer helps on past tasks.
func (c *Client) Check(ctx context.Context, q *api.Check) (*api.CheckReport, error) {
	out := new(api.CheckReport)
	return out, c.call(ctx, http.MethodPost, "/v1/check", q, out)
}

// PutPrior gives the service an encoded prior, under a name that stands for it until it is deleted.
func (c *Client) PutPrior(ctx context.Context, name string, encoded []byte) (*api.Prior, error) {
	out := new(api.Prior)
	return out, c.call(ctx, http.MethodPut, "/v1/priors/"+url.PathEscape(name), encoded, out)
}

// Priors lists all priors.
func (c *Client) Priors(ctx context.Context) ([]api.Prior, error) {
	var out api.Priors
	err := c.call(ctx, http.MethodGet, "/v1/priors", nil, &out)
	return out.Priors, err
}

// DeletePrior removes the prior of a name or a digest for good, with all its names. It is refused with the code
// "prior_in_use" while studies run with it, which Where of the [Error] names.
func (c *Client) DeletePrior(ctx context.Context, ref string) error {
	return c.call(ctx, http.MethodDelete, "/v1/priors/"+url.PathEscape(ref), nil, nil)
}

// Prior describes the prior of a name or a digest.
func (c *Client) Prior(ctx context.Context, ref string) (*api.Prior, error) {
	out := new(api.Prior)
	return out, c.call(ctx, http.MethodGet, "/v1/priors/"+url.PathEscape(ref), nil, out)
}

// EncodedPrior returns the encoded prior of a name or a digest.
func (c *Client) EncodedPrior(ctx context.Context, ref string) ([]byte, error) {
	var out []byte
	err := c.call(ctx, http.MethodGet, "/v1/priors/"+url.PathEscape(ref)+"/encoded", nil, &out)
	return out, err
}
