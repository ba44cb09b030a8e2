package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/internal/plot"
)

// A level that the page knows nothing of is shown like the others, and one without a
// hypothesis is not.
func TestNewLevel(t *testing.T) {
	unknown := cmbo.LevelCluster + 1
	p := plot.NewPage("")
	adviceText(p, &study.Advice{Transfer: cmbo.Transfer{Hypotheses: []cmbo.Hypothesis{
		{Level: cmbo.LevelNone, Cluster: -1, Mass: .4}, {Level: unknown, Cluster: -1, Mass: .6},
	}, Verdict: cmbo.TransferHelps}})
	if text := p.String(); !strings.Contains(text, fmt.Sprint(unknown)) || !strings.Contains(text, "60 %") || strings.Contains(text, fmt.Sprint(cmbo.LevelCluster)) {
		t.Errorf("%s", text)
	}
}

// Failures have places of their own among the evaluations.
func TestPositions(t *testing.T) {
	trials := []study.Trial{{Status: api.Told, After: 1}, {Status: api.Open}}
	for _, after := range []int{2, 0, 0, 3, 2} {
		trials = append(trials, study.Trial{Status: api.Failed, After: after})
	}
	values, failures := positions(3, trials)
	if got, want := fmt.Sprint(values, failures), "[3 4 7] [1 2 5 6 8]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
