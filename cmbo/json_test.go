package cmbo_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnknownNumbersInJSON: what an optimiser says goes into JSON at any moment, all exported fields by their names, and
// comes back but for numbers that are not known.
func TestUnknownNumbersInJSON(t *testing.T) {
	space := unitCube(t, 2)
	opt := newOptimizer(t, space, cmbo.WithOutput("seconds", cmbo.AtMost(2)))
	trial := ask(t, opt)
	says := func(values int) (all []any) {
		outlook := outlookOf(t, opt)
		require.Equal(t, values < 2, math.IsNaN(outlook.Expected))
		require.True(t, math.IsInf(outlook.Left, 1))
		calibration := calibrate(t, opt)
		recommendation := recommend(t, opt)
		explanation := explain(t, opt, trial.ID)
		transfer := transferOf(t, opt)
		step, _ := opt.LastStep()
		best, _ := opt.Best()
		return []any{outlook, calibration, recommendation, explanation, transfer, step, best, opt.Trials()[0]}
	}
	prospect := report(t, opt, trial.ID, 1, 0.5)
	require.True(t, math.IsNaN(prospect.Best))
	all := append(says(0), prospect, cmbo.CheckReport{Tasks: []cmbo.CheckedTask{{ID: "a"}}, StandardError: math.NaN()})
	for i := range 7 {
		require.NoError(t, opt.Tell(trial.ID, trial.X[0], cmbo.Outputs{"seconds": 1 + trial.X[1]/2}))
		trial = ask(t, opt)
		if i == 0 || i == 6 {
			all = append(all, says(i+1)...)
		}
	}
	for _, v := range all {
		b, err := json.Marshal(v)
		require.NoError(t, err, "%T", v)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(b, &fields))
		r := reflect.ValueOf(v)
		exported := 0
		for _, f := range reflect.VisibleFields(r.Type()) {
			if !f.IsExported() {
				continue
			}
			exported++
			got, there := fields[f.Name]
			assert.True(t, there, "%T.%s", v, f.Name)
			switch want := r.FieldByIndex(f.Index).Interface().(type) {
			case float64:
				if math.IsNaN(want) || math.IsInf(want, 0) {
					assert.Nil(t, got, "%T.%s", v, f.Name)
				} else {
					assert.Equal(t, want, got, "%T.%s", v, f.Name)
				}
			case cmbo.Verdict:
				assert.Equal(t, want.String(), got)
			case cmbo.Status:
				assert.Equal(t, string(want), got)
			}
		}
		assert.Len(t, fields, exported, "%T", v)
	}
	b, err := json.Marshal(cmbo.Outlook{Holds: map[string]float64{"seconds": math.NaN(), "size": 0.5}, Next: math.Inf(-1)})
	require.NoError(t, err)
	require.JSONEq(t, `{"Next": null, "Expected": 0, "Most": 0, "Gained": 0, "Feasible": 0, "Cost": 0, "PerCost": 0, "Spent": 0, "Left": 0,
		"Holds": {"seconds": null, "size": 0.5}}`, string(b))
}
