package history_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

const hpob = `{"4796": {"b": {"X": [[0.5, 0.25], [1, 0], [0.5, 0.25]], "y": [[0.1], [0.2], [0.3]]},
	"a": {"X": [[0, 1]], "y": [-3]}}, "5527": {"c": {"X": [[0]], "y": [[1]]}}}`

func TestReadHPOB(t *testing.T) {
	want := []cmbo.Task{
		{ID: "a", X: [][]float64{{0, 1}}, Y: []float64{-3}},
		{ID: "b", X: [][]float64{{0.5, 0.25}, {1, 0}}, Y: []float64{0.1, 0.2}},
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, hpob); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{"plain": strings.NewReader(hpob), "gzip": &packed} {
		got, err := history.ReadHPOB(r, "4796")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !sameBits(got.Tasks, want) || got.Space.Dim() != 2 {
			t.Errorf("%s: %v, want %v", name, got.Tasks, want)
		}
		mustBeLearnable(t, got)
	}
}

func TestReadHPOBErrors(t *testing.T) {
	for _, tt := range []struct{ text, space, task, reason string }{
		{hpob, "", "", ""},
		{hpob, "1", "", ""},
		{"", "", "", ""},
		{hpob[:70], "4796", "", ""},
		{`{"s": {"t": {"X": [[0.5], [2]], "y": [1, 2]}}}`, "", "t", "row 1: coordinate 0 is 2"},
		{`{"s": {"t": {"X": [[0.5], [null]], "y": [1, 2]}}}`, "", "t", "row 1: null in X"},
		{`{"s": {"t": {"X": [[0.5], [1]], "y": [1, null]}}}`, "", "t", "row 1: null in y"},
		{`{"s": {"t": {"X": [[0.5], [1]], "y": [1]}}}`, "", "t", "2 configurations but 1 values"},
		{`{"s": {"t": {"X": [[0.5]], "y": [1e160]}}}`, "", "t", "beyond"},
		{`{"s": {"": {"X": [[0.5]], "y": [1]}}}`, "", "", "no task ID"},
	} {
		_, err := history.ReadHPOB(strings.NewReader(tt.text), tt.space)
		var e *history.RowError
		row := errors.As(err, &e)
		if !errors.Is(err, cmbo.ErrCorrupt) && !errors.Is(err, cmbo.ErrNotFinite) && !errors.Is(err, cmbo.ErrTask) ||
			row != (tt.reason != "") || row && (e.Task != tt.task || !strings.Contains(e.Reason, tt.reason)) {
			t.Errorf("%.40s: %v, want task %q, %q", tt.text, err, tt.task, tt.reason)
		}
	}
}
