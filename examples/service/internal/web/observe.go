package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gocmbo/cmbo/examples/service/api"
)

// requestHeader has the ID of a request, by which its lines in the log are found: the
// client's, or one that is made up.
const requestHeader = "X-Request-Id"

type requestKey struct{}

// requestID returns the client's ID of a request if it can stand in a log.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestHeader)
	if len(id) < 1 || len(id) > 64 {
		return rand.Text()
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return rand.Text()
		}
	}
	return id
}

// logFor returns the log of a request.
func (s *Server) logFor(ctx context.Context) *slog.Logger {
	if id, ok := ctx.Value(requestKey{}).(string); ok {
		return s.Log.With("request", id)
	}
	return s.Log
}

// response notes what a request is answered with.
type response struct {
	http.ResponseWriter
	route  string // pattern that matched
	status int
	bytes  int
	code   string // of a refusal
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += n
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// meters are what operators watch.
type meters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMeters(s *Server) *meters {
	m := &meters{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cmbo_http_requests_total", Help: "Requests answered, by route, method and status.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cmbo_http_request_duration_seconds",
			Help:    "Time until a request was answered, waiting for proposals and for the disk included.",
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 60},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "cmbo_http_requests_in_flight",
			Help: "Requests under way."}),
	}
	bodies := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cmbo_http_bodies_bytes", Help: "Memory that large bodies have, of -max-bodies.",
	}, func() float64 { return float64(s.large.used()) })
	m.registry.MustRegister(m.requests, m.duration, m.inFlight, bodies, &kept{s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// kept collects what the service keeps, when it is asked.
type kept struct{ *Server }

var (
	studiesDesc      = prometheus.NewDesc("cmbo_studies", "Studies, by state.", []string{"state"}, nil)
	trialsDesc       = prometheus.NewDesc("cmbo_trials", "Trials of all studies, by status.", []string{"status"}, nil)
	observationsDesc = prometheus.NewDesc("cmbo_observations", "Values of all studies, told and observed.", nil, nil)
	priorsDesc       = prometheus.NewDesc("cmbo_priors", "Priors.", nil, nil)
	priorBytesDesc   = prometheus.NewDesc("cmbo_priors_bytes", "Bytes of all encoded priors.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (k *kept) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{studiesDesc, trialsDesc, observationsDesc, priorsDesc, priorBytesDesc} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (k *kept) Collect(to chan<- prometheus.Metric) {
	var trials api.Counts
	ok, observations := 0, 0
	closed := map[string]int{}
	for _, t := range k.Studies.Studies() {
		if err := t.Damaged(); err != nil {
			closed[notServed(err)]++
			continue
		}
		ok++
		m := t.Summary()
		trials.Open += m.Counts.Open
		trials.Told += m.Counts.Told
		trials.Failed += m.Counts.Failed
		trials.Cancelled += m.Counts.Cancelled
		trials.Stopped += m.Counts.Stopped
		observations += m.Observations
	}
	priors := k.Studies.Priors()
	bytes := 0
	for _, p := range priors {
		bytes += p.Bytes
	}
	for _, v := range []struct {
		desc  *prometheus.Desc
		value int
		label []string
	}{
		{studiesDesc, ok, []string{api.StateOK}}, {studiesDesc, closed[api.StateDamaged], []string{api.StateDamaged}},
		{studiesDesc, closed[api.StateOtherVersion], []string{api.StateOtherVersion}},
		{trialsDesc, trials.Open, []string{api.Open}}, {trialsDesc, trials.Told, []string{api.Told}},
		{trialsDesc, trials.Failed, []string{api.Failed}}, {trialsDesc, trials.Cancelled, []string{api.Cancelled}},
		{trialsDesc, trials.Stopped, []string{api.Stopped}},
		{observationsDesc, observations, nil}, {priorsDesc, len(priors), nil}, {priorBytesDesc, bytes, nil},
	} {
		to <- prometheus.MustNewConstMetric(v.desc, prometheus.GaugeValue, float64(v.value), v.label...)
	}
}

// metrics serves the meters.
func (s *Server) metrics() http.Handler {
	return promhttp.HandlerFor(s.meters.registry, promhttp.HandlerOpts{})
}

// watched answers a request by serve, counts it and has a line in the log for it.
func (s *Server) watched(w http.ResponseWriter, r *http.Request, serve func(*response, *http.Request)) {
	id, begin := requestID(r), time.Now()
	w.Header().Set(requestHeader, id)
	out := &response{ResponseWriter: w, route: "none"}
	s.meters.inFlight.Inc()
	defer func() {
		s.meters.inFlight.Dec()
		took, method := time.Since(begin), r.Method
		switch method {
		case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead:
		default: // a client may not make up series
			method = "other"
		}
		s.meters.requests.WithLabelValues(out.route, method, strconv.Itoa(out.status)).Inc()
		s.meters.duration.WithLabelValues(out.route, method).Observe(took.Seconds())
		level := slog.LevelInfo
		switch {
		case out.status >= 500:
			level = slog.LevelWarn // its cause has a line of its own
		case r.Method == http.MethodGet && out.status < 400: // pages load themselves again, and others poll
			level = slog.LevelDebug
		}
		attrs := []slog.Attr{
			slog.String("request", id), slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", out.status),
			slog.Duration("took", took), slog.Int("bytes", out.bytes), slog.String("remote", r.RemoteAddr),
		}
		if out.code != "" {
			attrs = append(attrs, slog.String("code", out.code))
		}
		s.Log.LogAttrs(r.Context(), level, "answered", attrs...)
	}()
	serve(out, r.WithContext(context.WithValue(r.Context(), requestKey{}, id)))
}
