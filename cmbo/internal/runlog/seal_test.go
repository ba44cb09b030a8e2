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
	assert.Equal(t, `Other none, not "`+a+a[:99], Difference(struct{}{}, struct{ Other string }{long}))
}
