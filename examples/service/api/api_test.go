package api_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/api"
)

// FuzzRow holds a Row against what encoding/json makes of the same text.
func FuzzRow(f *testing.F) {
	for _, s := range []string{`null`, `[]`, ` [ ] `, `[1]`, `[1, -2.5e3 ,0]`, `[null]`, `[1,null,2]`, `["1"]`, `["a,b",1]`, `[[1,2],3]`, `[{"a":1},2]`, `[1e999]`, `{}`, `"x"`, `true`, `[-0]`, `[`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var row api.Row
		var want []*float64
		err, e := json.Unmarshal([]byte(s), &row), json.Unmarshal([]byte(s), &want)
		if hasNull := slices.Contains(want, nil); e == nil && hasNull {
			if !errors.Is(err, api.ErrRow) {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if (err == nil) != (e == nil) || err == nil && (len(row) != len(want) || (row == nil) != (want == nil)) {
			t.Fatalf("%q: %v (%v), want %d numbers (%v)", s, row, err, len(want), e)
		}
		for i := range row {
			if math.Float64bits(row[i]) != math.Float64bits(*want[i]) {
				t.Errorf("%q: %v", s, row)
			}
		}
	})
}
