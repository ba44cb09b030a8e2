package runlog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values too long to print whole are printed from shortly before where they part.
func TestDifference(t *testing.T) {
	long := strings.Repeat("a", 5000)
	type run struct {
		Seed int
		Name string
	}
	assert.Empty(t, Difference(run{1, long}, run{1, long}))
	assert.Equal(t, "Seed 1, not 2", Difference(run{1, long}, run{2, long}))
	a := strings.Repeat("a", 100)
	assert.Equal(t, "Name ..."+a+`b", not ...`+a+`c"`, Difference(run{1, long + "b"}, run{1, long + "c"}))
	assert.Equal(t, "Name ..."+a+`", not ...`+a+strings.Repeat("c", 100), Difference(run{1, long}, run{1, long + strings.Repeat("c", 500)}))
	assert.Equal(t, "Name \"b"+a+a[:98]+`, not "`+a+a[:99], Difference(run{1, "b" + long}, run{1, long}))
	whole := a + a[:97] // which leaves a text of 200 bytes
	assert.Equal(t, `Name "`+whole+`b", not "`+whole+`c"`, Difference(run{1, whole + "b"}, run{1, whole + "c"}))
	type param struct {
		Name string  `json:"name"`
		Hi   float64 `json:"hi"`
	}
	type space struct{ Params []param }
	box := space{[]param{{"lr", 1}, {"depth", 12}}}
	assert.Equal(t, `Params "depth".hi 12, not 13`, Difference(box, space{[]param{{"lr", 1}, {"depth", 13}}}))
	assert.Equal(t, `Params "lr".name "lr", not "rate"`, Difference(box, space{[]param{{"rate", 1}, {"depth", 12}}}))
	assert.Equal(t, `Params "depth" {"name":"depth","hi":12}, not none`, Difference(box, space{[]param{{"lr", 1}}}))
	assert.Equal(t, `Params "a" none, not {"name":"a","hi":1}`, Difference(box, space{append(box.Params, param{"a", 1})}))
	between := space{[]param{{"lr", 1}, {"bias", 3}, {"depth", 12}}}
	assert.Equal(t, `Params "bias" none, not {"name":"bias","hi":3}`, Difference(box, between))
	assert.Equal(t, `Params "bias" {"name":"bias","hi":3}, not none`, Difference(between, box))
	assert.Equal(t, `Params "lr".name "lr", not "depth"`, Difference(box, space{[]param{{"depth", 12}, {"lr", 1}}}))
	assert.Equal(t, `Rows[1][0] 2, not 3`, Difference(struct{ Rows [][]float64 }{[][]float64{{1}, {2}}}, struct{ Rows [][]float64 }{[][]float64{{1}, {3}}}))
	assert.Equal(t, `Rows null, not [1]`, Difference(struct{ Rows []int }{}, struct{ Rows []int }{[]int{1}}))
	assert.Equal(t, `Other none, not "`+a+a[:99], Difference(struct{}{}, struct{ Other string }{long}))
}
