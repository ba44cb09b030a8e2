package suggest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// A space is an experiment's search space: the library's, and how its numbers
// are written in assignments.
type space struct {
	*cmbo.Space
	params []parameter
}

// A parameter turns an entry of a row into the text of an assignment and back.
type parameter struct {
	name    string
	choices []string           // of a categorical, by index
	texts   map[float64]string // how a list writes its numbers
}

// maxValues bounds the values that a step makes on a logarithmic scale.
const maxValues = 1 << 16

// newSpace makes the space of an experiment's parameters. It fails with errors of the
// experiment.
func newSpace(specs []*api.ParameterSpec) (*space, error) {
	s := &space{}
	var params []cmbo.Param
	for _, spec := range specs {
		p, param, err := newParameter(spec)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", spec.GetName(), err)
		}
		s.params = append(s.params, p)
		params = append(params, param)
	}
	var err error
	s.Space, err = cmbo.NewSpace(params...)
	return s, err
}

func newParameter(spec *api.ParameterSpec) (parameter, cmbo.Param, error) {
	p, f := parameter{name: spec.GetName()}, spec.GetFeasibleSpace()
	switch spec.GetParameterType() {
	case api.ParameterType_CATEGORICAL:
		p.choices = f.GetList()
		return p, cmbo.Categorical(p.name, p.choices...), nil
	case api.ParameterType_DISCRETE:
		return newList(p, f.GetList())
	case api.ParameterType_DOUBLE:
		return newRange(p, f, false)
	case api.ParameterType_INT:
		return newRange(p, f, true)
	}
	return p, cmbo.Param{}, fmt.Errorf("type %s is not served", spec.GetParameterType())
}

// newList makes a parameter that takes the numbers of a list, whatever their
// order there.
func newList(p parameter, list []string) (parameter, cmbo.Param, error) {
	p.texts = make(map[float64]string, len(list))
	for _, text := range list {
		v, err := number("an entry of the list", text)
		if err != nil {
			return p, cmbo.Param{}, err
		}
		if p.texts[v] != "" {
			return p, cmbo.Param{}, fmt.Errorf("the list has %s and %s", p.texts[v], text)
		}
		p.texts[v] = text
	}
	return p, cmbo.Ordinal(p.name, slices.Sorted(maps.Keys(p.texts))...), nil
}

// newRange makes a parameter that lies between two numbers.
func newRange(p parameter, f *api.FeasibleSpace, whole bool) (parameter, cmbo.Param, error) {
	none := cmbo.Param{}
	var lo, hi, step float64
	for _, b := range []struct {
		name, text string
		to         *float64
	}{{"min", f.GetMin(), &lo}, {"max", f.GetMax(), &hi}, {"step", f.GetStep(), &step}} {
		if b.name == "step" && b.text == "" {
			continue
		}
		var err error
		if *b.to, err = number(b.name, b.text); err != nil {
			return p, none, err
		}
		if whole && *b.to != math.Trunc(*b.to) {
			return p, none, fmt.Errorf("%s is %q, not a whole number", b.name, b.text)
		}
		if whole && math.Abs(*b.to) > min(1<<53, math.MaxInt) {
			return p, none, fmt.Errorf("%s is %q, too large", b.name, b.text)
		}
	}
	if lo > hi {
		return p, none, fmt.Errorf("min %s is above max %s", f.GetMin(), f.GetMax())
	}
	if f.GetStep() != "" && !(step > 0) {
		return p, none, fmt.Errorf("step is %q, not positive", f.GetStep())
	}
	var log bool
	switch f.GetDistribution() {
	case api.Distribution_DISTRIBUTION_UNSPECIFIED, api.Distribution_UNIFORM:
	case api.Distribution_LOG_UNIFORM:
		if log = true; !(lo > 0) {
			return p, none, fmt.Errorf("min is %q, which has no logarithm", f.GetMin())
		}
	default:
		return p, none, fmt.Errorf("distribution %s is not served; UNIFORM and LOG_UNIFORM are", f.GetDistribution())
	}
	switch {
	case whole && step <= 1 && log:
		return p, cmbo.LogInt(p.name, int(lo), int(hi)), nil
	case log && step > 0:
		return newSteps(p, lo, hi, step, max(decimals(f.GetMin()), decimals(f.GetStep())))
	case whole:
		return p, cmbo.Int(p.name, int(lo), int(hi)).WithStep(max(step, 1)), nil
	case lo == hi:
		return newList(p, []string{f.GetMin()})
	case log:
		return p, cmbo.LogFloat(p.name, lo, hi), nil
	}
	return p, cmbo.Float(p.name, lo, hi).WithStep(step), nil
}

// newSteps makes a parameter that takes lo, lo+step, ... up to hi, by their
// place: the library has no steps on a logarithmic scale.
func newSteps(p parameter, lo, hi, step float64, digits int) (parameter, cmbo.Param, error) {
	n := math.Floor((hi-lo)/step + 1e-9)
	if !(n < maxValues) {
		return p, cmbo.Param{}, fmt.Errorf("step %g makes more than %d values", step, maxValues)
	}
	var list []string
	for i := range int(n) + 1 {
		list = append(list, strconv.FormatFloat(lo+float64(i)*step, 'f', digits, 64))
	}
	return newList(p, list)
}

// decimals returns the number of digits after the point of a number's text, up to those that
// tell any two float64 apart.
func decimals(text string) int {
	text = strings.ToLower(strings.TrimSpace(text))
	mantissa, exponent, _ := strings.Cut(text, "e")
	e, _ := strconv.Atoi(exponent)
	_, fraction, _ := strings.Cut(mantissa, ".")
	return min(max(len(fraction)-e, 0), 340)
}

// number reads a finite number.
func number(what, text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s is %q, not a finite number", what, text)
	}
	return v, nil
}

// assignments writes a row.
func (s *space) assignments(row []float64) []*api.ParameterAssignment {
	out := make([]*api.ParameterAssignment, len(row))
	for i, p := range s.params {
		out[i] = &api.ParameterAssignment{Name: p.name, Value: p.text(row[i])}
	}
	return out
}

func (p *parameter) text(v float64) string {
	if p.choices != nil {
		return p.choices[int(v)]
	}
	if text, ok := p.texts[v]; ok {
		return text
	}
	if v == math.Trunc(v) && math.Abs(v) <= 1<<53 { // of an int, too: programs read no exponent in one
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// row reads assignments, in any order.
func (s *space) row(list []*api.ParameterAssignment) ([]float64, error) {
	text := make(map[string]string, len(list))
	for _, a := range list {
		text[a.GetName()] = a.GetValue()
	}
	row := make([]float64, len(s.params))
	for i, p := range s.params {
		t, ok := text[p.name]
		if !ok {
			return nil, fmt.Errorf("parameter %q has no value", p.name)
		}
		var err error
		if row[i], err = p.entry(t); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", p.name, err)
		}
	}
	row, _, err := s.Snap(row)
	return row, err
}

func (p *parameter) entry(text string) (float64, error) {
	if p.choices == nil {
		return number("the value", text)
	}
	i := slices.Index(p.choices, text)
	if i < 0 {
		return 0, fmt.Errorf("%q is not in the list", text)
	}
	return float64(i), nil
}

// sameSpace reports whether two spaces have the same parameters, by their
// descriptions.
func sameSpace(a, b *cmbo.Space) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

// key identifies a row.
func (s *space) key(row []float64) string {
	var b strings.Builder
	for i, p := range s.params {
		fmt.Fprintf(&b, "%q ", p.text(row[i]))
	}
	return b.String()
}
