package bench

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
)

// info identifies a table by all that an experiment makes use of.
func (t *Table) info() TableInfo {
	h := sha256.New()
	number := func(n int) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) { number(len(s)); fmt.Fprint(h, s) }
	floats := func(v []float64) {
		number(len(v))
		for _, x := range v {
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
		}
	}
	info := TableInfo{Space: t.Space, Dim: t.Dim, Tasks: len(t.Tasks)}
	text(t.Space)
	number(t.Dim)
	number(len(t.Tasks))
	for i := range t.Tasks {
		task := &t.Tasks[i]
		info.Rows += len(task.X)
		text(task.ID)
		text(task.Split)
		number(len(task.X))
		for _, x := range task.X {
			floats(x)
		}
		floats(task.Y)
		number(len(task.Initial))
		for _, name := range slices.Sorted(maps.Keys(task.Initial)) {
			text(name)
			number(len(task.Initial[name]))
			for _, r := range task.Initial[name] {
				number(r)
			}
		}
	}
	info.Digest = hex.EncodeToString(h.Sum(nil))
	return info
}
