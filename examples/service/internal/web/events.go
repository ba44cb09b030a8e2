package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const eventKind = "text/event-stream"

// stillTime is after how long without events a stream has a comment, lest what stands
// between takes it for dead.
const stillTime = 15 * time.Second

// events streams what happens in a study, as server-sent events. A stream ends with the
// study or the time that a request may take; a client comes back with the number of the last event
// that it saw, as browsers do by themselves.
func (s *Server) events(q *request) (int, any, error) {
	t, err := s.healthy(q.Request)
	if err != nil {
		return 0, nil, err
	}
	after, err := q.number("after", 0, 0, 1<<30)
	if err != nil {
		return 0, nil, err
	}
	if id := q.Header.Get("Last-Event-ID"); id != "" {
		if after, err = strconv.Atoi(id); err != nil || after < 0 {
			return 0, nil, badField("bad_request", "Last-Event-ID", "Last-Event-ID must be the number of an event")
		}
	}
	return http.StatusOK, stream(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", eventKind)
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w).Flush
		still := time.NewTicker(stillTime)
		defer still.Stop()
		for {
			happened, news := t.Events(after)
			for _, e := range happened {
				data, err := json.Marshal(e)
				if err != nil {
					return
				}
				if _, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Number, e.Kind, data); err != nil {
					return
				}
				after = e.Number
			}
			if flush() != nil {
				return
			}
			select {
			case <-news:
			case <-still.C:
				if _, err := fmt.Fprint(w, ":\n\n"); err != nil {
					return
				}
			case <-t.Deleted():
				return
			case <-s.ended:
				return
			case <-q.Context().Done():
				return
			}
		}
	}), nil
}
