package history

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
)

// The kinds of distributions.
type distKind uint8

const (
	distFloat distKind = iota
	distInt
	distCategorical
)

// distribution is what a parameter was drawn from.
type distribution struct {
	class   string // name of Optuna's type
	kind    distKind
	lo, hi  float64
	step    float64 // 0 if there is none
	log     bool
	choices []json.RawMessage
	names   []string // of the choices
}

// The types of distributions by name. Those with Uniform are older; Optuna still reads them.
var classes = map[string]struct {
	kind distKind
	log  bool
}{
	"FloatDistribution":           {kind: distFloat},
	"UniformDistribution":         {kind: distFloat},
	"DiscreteUniformDistribution": {kind: distFloat},
	"LogUniformDistribution":      {kind: distFloat, log: true},
	"IntDistribution":             {kind: distInt},
	"IntUniformDistribution":      {kind: distInt},
	"IntLogUniformDistribution":   {kind: distInt, log: true},
	"CategoricalDistribution":     {kind: distCategorical},
}

// distribution decodes a JSON string that holds the JSON of a distribution. Equal ones are decoded once.
func (j *journal) distribution(raw json.RawMessage) (*distribution, *RowError) {
	text, ok := jsonString(raw)
	if !ok {
		return nil, rowErrorf(cmbo.ErrCorrupt, "missing, or not a string")
	}
	if d := j.dists[text]; d != nil {
		return d, nil
	}
	var in struct {
		Name       string `json:"name"`
		Attributes struct {
			Low     json.RawMessage   `json:"low"`
			High    json.RawMessage   `json:"high"`
			Step    json.RawMessage   `json:"step"`
			Q       json.RawMessage   `json:"q"`
			Log     bool              `json:"log"`
			Choices []json.RawMessage `json:"choices"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(bare([]byte(text)), &in); err != nil {
		return nil, rowErrorf(cmbo.ErrCorrupt, "%v", err)
	}
	class, ok := classes[in.Name]
	if !ok {
		return nil, &RowError{Value: names.Clip(in.Name), Reason: "of unknown type", Err: cmbo.ErrVersion}
	}
	a := in.Attributes
	d := &distribution{class: in.Name, kind: class.kind, log: class.log || a.Log}
	j.dists[text] = d
	if d.kind == distCategorical {
		d.choices = a.Choices
		d.names = each.Of(a.Choices, func(c json.RawMessage) string { return jsonName(c) })
		return d, nil
	}
	step := a.Step
	if isNull(step) {
		step = a.Q
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
		to   *float64
	}{{"low", a.Low, &d.lo}, {"high", a.High, &d.hi}, {"step", step, &d.step}} {
		if f.name == "step" && isNull(f.raw) {
			continue
		}
		v, e := jsonFloat(f.raw, cmbo.ErrCorrupt)
		if e != nil {
			e.Reason = f.name + ": " + e.Reason
			return nil, e
		}
		*f.to = v
	}
	if d.kind == distInt && d.step == 1 {
		d.step = 0
	}
	return d, nil
}

// compatible reports whether Optuna lets one study have both distributions for one parameter.
func (d *distribution) compatible(e *distribution) bool {
	return d == e || d.class == e.class && d.log == e.log &&
		slices.EqualFunc(d.choices, e.choices, func(a, b json.RawMessage) bool { return pythonKey(a) == pythonKey(b) })
}

// pythonKey is the same for choices that Python holds for equal: true is 1, 1 is 1.0.
func pythonKey(raw json.RawMessage) string {
	switch s := string(raw); {
	case s == "true":
		return "1"
	case s == "false":
		return "0"
	case raw[0] == '"':
		return s
	default:
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return formatFloat(v)
		}
	}
	return jsonName(raw)
}

// String describes the distribution for messages.
func (d *distribution) String() string {
	text := fmt.Sprintf("a number in [%s, %s]", formatFloat(d.lo), formatFloat(d.hi))
	switch d.kind {
	case distCategorical:
		return "one of " + quoteAll(d.names)
	case distInt:
		text = fmt.Sprintf("an integer in [%s, %s]", formatWhole(d.lo), formatWhole(d.hi))
	}
	if d.step != 0 {
		text += ", step " + formatFloat(d.step)
	}
	if d.log {
		text += ", log"
	}
	return text
}

// text is the value of a setting for messages.
func (p *setting) text() string {
	switch p.dist.kind {
	case distCategorical:
		return p.dist.names[int(p.v)]
	case distInt:
		return formatWhole(p.v)
	}
	return formatFloat(p.v)
}

// value returns a setting as the value of a parameter.
func (p *setting) value(c column) (float64, *RowError) {
	if p.dist.kind == distCategorical {
		return c.fromJSON(p.dist.choices[int(p.v)])
	}
	if c.param.Kind() == cmbo.KindCategorical || c.param.Kind() == cmbo.KindBool {
		return c.fromJSON([]byte(p.text()))
	}
	return p.v, nil
}

// infer makes the space of all parameters of the trials to be read.
func infer(studies []*study) (*cmbo.Space, error) {
	firsts := make(map[string]setting) // by parameter
	var order []string
	for _, s := range studies {
		for _, t := range s.kept {
			for _, p := range t.settings {
				name := p.param.name
				first, known := firsts[name]
				if !known {
					firsts[name] = p
					order = append(order, name)
				} else if !first.dist.same(p.dist) {
					return nil, &RowError{Line: p.line, Task: s.name, Field: name, Err: cmbo.ErrSpace,
						Reason: fmt.Sprintf("%s here, but %s on line %d in study %q",
							p.dist, first.dist, first.line, first.param.study.name)}
				}
			}
		}
	}
	var params []cmbo.Param
	for _, name := range order {
		first := firsts[name]
		p, err := first.dist.param(name)
		if err == nil {
			_, err = cmbo.NewSpace(p)
		}
		if err != nil {
			return nil, &RowError{Line: first.line, Task: first.param.study.name, Field: name, Err: err,
				Reason: fmt.Sprintf("%s cannot be a parameter; declare a Space without it: %v", first.dist, err)}
		}
		params = append(params, p)
	}
	if len(params) == 0 {
		return nil, &RowError{Reason: "no trial has a parameter to infer a space from", Err: cmbo.ErrSpace}
	}
	return cmbo.NewSpace(params...)
}

// same reports whether two distributions make one parameter. Choices go by their names, so that their order does not matter.
func (d *distribution) same(e *distribution) bool {
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	return d == e || d.kind == e.kind && d.log == e.log && d.lo == e.lo && d.hi == e.hi && d.step == e.step &&
		slices.Equal(sorted(d.names), sorted(e.names))
}

// numbers returns choices that are different numbers in their order, nil if there are others.
func (d *distribution) numbers() []float64 {
	var values []float64
	for _, c := range d.choices {
		text, ok := jsonNumber(c)
		v, e := number(text, cmbo.ErrSpace)
		if !ok || e != nil || math.Abs(v) >= maxInt {
			return nil
		}
		values = append(values, v)
	}
	slices.Sort(values)
	if len(slices.Compact(values)) < len(d.choices) {
		return nil
	}
	return values
}

func (d *distribution) param(name string) (cmbo.Param, error) {
	switch d.kind {
	case distCategorical:
		if len(d.choices) == 2 {
			a, b := string(d.choices[0]), string(d.choices[1])
			if a == "true" && b == "false" || a == "false" && b == "true" {
				return cmbo.Bool(name), nil
			}
		}
		if values := d.numbers(); values != nil {
			return cmbo.Ordinal(name, values...), nil
		}
		return cmbo.Categorical(name, d.names...), nil
	case distInt:
		lo, hi := int(d.lo), int(d.hi)
		if float64(lo) != d.lo || float64(hi) != d.hi {
			return cmbo.Param{}, fmt.Errorf("%w: %s does not fit int", cmbo.ErrSpace, d)
		}
		if d.log {
			return cmbo.LogInt(name, lo, hi), nil
		}
		return cmbo.Int(name, lo, hi).WithStep(d.step), nil
	}
	if d.log {
		return cmbo.LogFloat(name, d.lo, d.hi), nil
	}
	return cmbo.Float(name, d.lo, d.hi).WithStep(d.step), nil
}
