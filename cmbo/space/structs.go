package space

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
)

// Of returns the space that the tags of a struct's fields describe, in the
// order of the fields; cfg is the struct or a pointer to one:
//
//	type config struct {
//		LR     float64 `cmbo:"lr,log,1e-5,1"`
//		Units  int     `cmbo:"units,ordinal,16,32,64"`
//		Kernel string  `cmbo:"kernel,rbf,poly,linear"`
//		Bias   bool    `cmbo:"bias"`
//	}
//
// A tag has the parameter's name, the field's if it is left empty, and then what the field's type needs:
//
//	float64, float32                lo,hi or log,lo,hi or lo,hi,step=s or ordinal,v1,v2,...
//	int, int8 ... int64, uint ...   the same, in whole numbers
//	string                          the choices, which cannot hold commas
//	bool                            nothing
//
// Fields without a tag, and those with the tag "-", are no parameters; the fields of embedded structs belong to the
// struct. [Point.Into] fills such a struct. It fails with [ErrSpace] if a tag is not of this form, a struct with tags
// is embedded by a pointer, or the field does not hold the ends of the range, 300 in an int8 say, and as [New] does.
func Of(cfg any) (*Space, error) {
	v := reflect.ValueOf(cfg)
	if v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct {
		v = reflect.Zero(v.Type().Elem())
	}
	if v.Kind() != reflect.Struct {
		return nil, Errorf(ErrSpace, "%T is no struct", cfg)
	}
	fields := taggedFields(v.Type(), nil)
	var params []Param
	for _, f := range fields {
		p, why := f.param()
		if why != "" {
			return nil, f.fail("%s", why)
		}
		params = append(params, p)
	}
	s, err := New(params...)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		p := s.params[i]
		for _, end := range []float64{p.lo, p.hi} {
			if !p.set(reflect.New(f.Type).Elem(), end) {
				return nil, f.unfit(p, end)
			}
		}
	}
	return s, nil
}

type field struct {
	reflect.StructField
	path  []int // of the field in the struct that was asked for
	name  string
	terms []string // after the name
}

// taggedFields lists the fields with a tag, those of embedded structs included. A pointer in place of such
// a struct is itself listed, as one that cannot be a parameter.
func taggedFields(t reflect.Type, path []int) []field {
	var fields []field
	tagged := func(f reflect.StructField) bool { _, ok := f.Tag.Lookup("cmbo"); return ok }
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clip(path), i)
		tag, ok := f.Tag.Lookup("cmbo")
		if e := f.Type; !ok && f.Anonymous && e.Kind() == reflect.Pointer && e.Elem().Kind() == reflect.Struct {
			ok = slices.ContainsFunc(reflect.VisibleFields(e.Elem()), tagged)
		}
		switch {
		case tag == "-":
		case !ok && f.Anonymous && f.Type.Kind() == reflect.Struct:
			fields = append(fields, taggedFields(f.Type, at)...)
		case ok:
			terms := each.Of(strings.Split(tag, ","), strings.TrimSpace)
			fields = append(fields, field{f, at, cmp.Or(terms[0], f.Name), terms[1:]})
		}
	}
	return fields
}

func (f *field) fail(format string, args ...any) error {
	return Errorf(ErrSpace, "field "+f.Name+": "+format, args...).of(f.name)
}

// unfit says that the field does not hold a value of the parameter.
func (f *field) unfit(p Param, x float64) error {
	return f.fail("a %s does not hold %s, a value of %s", f.Type, p.text(x), p)
}

// param makes the parameter of a field, or says why it cannot.
func (f *field) param() (p Param, why string) {
	switch k := f.Type.Kind(); {
	case !f.IsExported():
		return p, "it is not exported, and could not be set"
	case k == reflect.Bool:
		if len(f.terms) > 0 {
			return p, "a bool has nothing after its name"
		}
		return Bool(f.name), ""
	case k == reflect.String:
		if len(f.terms) == 0 {
			return p, "a string needs its choices after the name"
		}
		return Categorical(f.name, f.terms...), ""
	case f.whole() || k == reflect.Float32 || k == reflect.Float64:
		return f.number()
	}
	return p, "a " + f.Type.String() + " cannot be a parameter"
}

func (f *field) whole() bool {
	return f.Type.Kind() >= reflect.Int && f.Type.Kind() <= reflect.Uint64
}

// number makes the parameter of a field that holds numbers.
func (f *field) number() (p Param, why string) {
	const form = "want lo,hi or log,lo,hi or lo,hi,step=s or ordinal,v1,v2,..."
	terms, word := f.terms, ""
	if len(terms) > 0 && (terms[0] == "log" || terms[0] == "ordinal") {
		word, terms = terms[0], terms[1:]
	}
	step := 0.0
	if n := len(terms); n > 0 && strings.HasPrefix(terms[n-1], "step=") {
		var err error
		if step, err = strconv.ParseFloat(terms[n-1][len("step="):], 64); err != nil {
			return p, form
		}
		terms = terms[:n-1]
	}
	values := make([]float64, len(terms))
	for i, text := range terms {
		var err error
		if f.whole() {
			var n int64
			n, err = strconv.ParseInt(text, 10, 64)
			values[i] = wholeFloat(n)
		} else {
			values[i], err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return p, strconv.Quote(text) + " is no number of the field's type; " + form
		}
	}
	if word == "ordinal" {
		if step != 0 {
			return p, form
		}
		return Ordinal(f.name, values...), ""
	}
	if len(values) != 2 {
		return p, form
	}
	kind := KindFloat
	switch {
	case f.whole() && word == "log":
		kind = KindLogInt
	case f.whole():
		kind = KindInt
	case word == "log":
		kind = KindLogFloat
	}
	return Param{name: f.name, kind: kind, lo: values[0], hi: values[1]}.WithStep(step), ""
}

// Into sets the tagged fields of the struct that cfg points to: see [Of]. It fails with [ErrSpace] and changes nothing if a
// field does not hold the value; a float32 rounds that of a real parameter, but must not overflow, nor make 0 of a LogFloat.
func (v Point) Into(cfg any) error {
	dst := reflect.ValueOf(cfg)
	if dst.Kind() != reflect.Pointer || dst.IsNil() || dst.Elem().Kind() != reflect.Struct {
		return Errorf(ErrSpace, "%T is no pointer to a struct that could be filled", cfg)
	}
	if v.Space == nil {
		return Errorf(ErrSpace, "an Optimizer did not make this point, so its parameters are not known")
	}
	if err := v.Space.Check(v.X); err != nil {
		return err
	}
	filled := reflect.New(dst.Elem().Type()).Elem()
	filled.Set(dst.Elem())
	seen := make(map[string]bool)
	for _, f := range taggedFields(filled.Type(), nil) {
		i, ok := v.Space.names[f.name]
		if !ok {
			return f.fail("the space has no such parameter")
		}
		p, x := v.Space.params[i], v.X[i]
		if seen[p.name] = true; !f.IsExported() {
			return f.fail("it is not exported, and cannot be set")
		}
		if !p.set(filled.FieldByIndex(f.path), x) {
			return f.unfit(p, x)
		}
	}
	for _, p := range v.Space.params {
		if !seen[p.name] {
			return Errorf(ErrSpace, "%T has no field for it; a tag `cmbo:%q` makes one", cfg, p.name).of(p.name)
		}
	}
	dst.Elem().Set(filled)
	return nil
}

// set sets a field to a value of the parameter; it reports whether the field holds it.
func (p Param) set(dst reflect.Value, x float64) (held bool) {
	whole := p.wholeValues()
	switch {
	case p.kind == KindBool:
		if held = dst.Kind() == reflect.Bool; held {
			dst.SetBool(x != 0)
		}
	case p.kind == KindCategorical:
		if held = dst.Kind() == reflect.String; held {
			dst.SetString(p.choices[int(x)])
		}
	case dst.CanFloat() && !dst.OverflowFloat(x):
		dst.SetFloat(x)
		// A float32 may round a real, but not one with a logarithm to 0.
		held = dst.Float() == x || !whole && (dst.Float() != 0 || p.kind != KindLogFloat)
	case dst.CanInt():
		if held = whole && !dst.OverflowInt(int64(x)); held {
			dst.SetInt(int64(x))
		}
	case dst.CanUint():
		if held = whole && x >= 0 && !dst.OverflowUint(uint64(x)); held {
			dst.SetUint(uint64(x))
		}
	}
	return held
}
