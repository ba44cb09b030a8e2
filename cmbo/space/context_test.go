package space

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestContextNormal: numbers of any Go type become float64, switches choices, and what is
// missing is left out.
func TestContextNormal(t *testing.T) {
	for _, v := range []any{3, int8(3), int16(3), int32(3), int64(3), uint(3), uint8(3), uint64(3), float32(3), 3.0} {
		got, err := Context{"a": v}.Normal()
		require.NoError(t, err, "%T", v)
		assert.Equal(t, Context{"a": 3.0}, got, "%T", v)
	}
	got, err := Context{"on": true, "off": false, "word": "x", "nothing": nil, "unknown": math.NaN()}.Normal()
	require.NoError(t, err)
	assert.Equal(t, Context{"on": "true", "off": "false", "word": "x"}, got)
	got, err = Context{"nothing": nil}.Normal()
	require.NoError(t, err)
	assert.Nil(t, got)
	for _, v := range []any{[]int{1}, struct{}{}, map[string]int{}, "Caf\xe9"} {
		_, err := Context{"a": v}.Normal()
		assert.ErrorIs(t, err, ErrTask, "%T", v)
	}
	for _, name := range []string{"", " a", "a\nb", "\xff"} {
		_, err = Context{name: 1}.Normal()
		assert.ErrorIs(t, err, ErrTask, "%q", name)
	}
	_, err = Context{"a": math.Inf(1)}.Normal()
	assert.ErrorIs(t, err, ErrValue)
}
