package codec

import (
	"encoding/json"
	"math"
	"reflect"
)

// JSON returns v by the names of its fields, with null for the numbers that JSON lacks: NaN and infinities. MarshalJSON of
// v, and of structs, maps and lists in it, does not count.
func JSON(v any) ([]byte, error) { return json.Marshal(finite(reflect.ValueOf(v))) }

func finite(v reflect.Value) any {
	switch k := v.Kind(); {
	case k == reflect.Float64 && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)),
		(k == reflect.Map || k == reflect.Slice) && v.IsNil():
		return nil
	case k == reflect.Slice:
		list := []any{}
		for _, entry := range v.Seq2() {
			list = append(list, finite(entry))
		}
		return list
	case k == reflect.Map:
		entries := make(map[string]any)
		for name, entry := range v.Seq2() {
			entries[name.String()] = finite(entry)
		}
		return entries
	case k == reflect.Struct:
		fields := make(map[string]any)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fields[f.Name] = finite(v.Field(i))
			}
		}
		return fields
	}
	return v.Interface()
}
