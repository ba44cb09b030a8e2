package hierarchy

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
)

// An Ablation is a change of the settings by which a mechanism, or a number of it, is defended or not.
type Ablation struct {
	Name, What string
	change     func(s *Settings)
}

// Ablations are the changes that there are.
var Ablations = []Ablation{
	{"no-hedge", "no other judge is asked", func(s *Settings) { s.Hedge = Hedge{} }},
	{"hedge-half", "another judge chooses every second point, whether the past is trusted or not",
		func(s *Settings) { s.Hedge.Trusted = s.Hedge.Doubted }},
	{"distance-alone", "the other judge is always the distance", func(s *Settings) { s.Hedge.WithoutPast = false }},
	{"farthest", "a point by distance is the farthest from all points asked for, without a list, too", func(s *Settings) { s.Hedge.Drawn = false }},
	{"no-ties", "values equal to the best, however many, leave the past trusted", func(s *Settings) { s.Hedge.Ties = 0 }},
	{"no-own-process", "what transfers has no process of the target's own beside", func(s *Settings) { s.Besides = nil }},
	{"always-transfer", "no hypothesis of no transfer", func(s *Settings) { s.NoTransferMass, s.AloneMass = 0, 0 }},
	{"no-first-transfer", "a first value in another unit than the past's counts without transfer, too", func(s *Settings) { s.FirstTransfers = false }},
	{"no-reversal", "large is never small", func(s *Settings) { s.Reversed = 0 }},
	{"no-logarithms", "positive values, however skewed, are seen as they are told", func(s *Settings) { s.Logs = 0 }},
	{"no-compression", "low values, of past tasks and of a run, are as far apart as they were", func(s *Settings) { s.Compress = false }},
	{"no-rescaling", "low values of a run are seen in the tasks' mean scale, or in one for their deviation", func(s *Settings) { s.Rescale = false }},
	{"absolute-improvement", "an improvement counts the same under all scales", func(s *Settings) { s.Relative = false }},
	{"no-low-ends", "intervals take values that were raised for just so low", func(s *Settings) { s.LowEnds = false }},
	{"free-lengths", "lengths of the base process are three times as free to differ from the template's", func(s *Settings) { s.LengthSD *= 3 }},
	{"held-lengths", "they are half as free", func(s *Settings) { s.LengthSD /= 2 }},
	{"half-shrinkage", "the population's covariance is drawn half to the base process's", func(s *Settings) { s.Shrink = 0.5 }},
	{"em-alone", "the population is what EM finds, however few the past tasks are", func(s *Settings) { s.PriorTasks = 0 }},
	{"rougher-kernel", "the processes' kernels are Matérn-1/2", func(s *Settings) { s.reshape(kernel.Matern12) }},
	{"smoother-kernel", "the processes' kernels are Matérn-5/2", func(s *Settings) { s.reshape(kernel.Matern52) }},
	{"one-kernel", "that of the base process is Matérn-3/2 without a list, too", func(s *Settings) { s.Kernels = s.Kernels[:1] }},
	{"far-offsets", "offsets unlike the past's are as likely with transfer as without",
		func(s *Settings) { s.TransferTail = s.NoTransferTail }},
}

// reshape gives the base process and that specific to a target another shape, with the lengths they have.
func (s *Settings) reshape(shape func(lengths ...float64) kernel.Stationary) {
	s.Kernels, s.SpecificKernel = []kernel.Kernel{reshaped(s.Kernels[0], shape)}, reshaped(s.SpecificKernel, shape)
}

// reshaped returns a scaled kernel in another shape.
func reshaped(k kernel.Kernel, shape func(lengths ...float64) kernel.Stationary) kernel.Kernel {
	params := k.AppendParams(nil)
	for i := range params {
		params[i] = math.Exp(params[i])
	}
	return kernel.Scale(params[0], shape(params[1:]...))
}

// Ablate makes the named changes: one of Ablations each, or a field that holds a number, or several, and what it is to
// hold, as in Shrink=0.2, Besides=0.1:1 and Hedge.Ties=3. It fails at a name that there is none of, with those that
// there are, at a number that is negative or infinite, a count below 1 or a share above 1, and at bounds of a logarithm that
// are none.
func (s *Settings) Ablate(names ...string) error {
	for _, name := range names {
		if field, value, ok := strings.Cut(name, "="); ok {
			if err := s.assign(field, value); err != nil {
				return fmt.Errorf("setting %q: %w", name, err)
			}
			continue
		}
		i := slices.IndexFunc(Ablations, func(a Ablation) bool { return a.Name == name })
		if i < 0 {
			known := each.Of(Ablations, func(a Ablation) string { return a.Name })
			return fmt.Errorf("there is no ablation %q; there are %s, and fields of the settings, as in Shrink=0.2", name, strings.Join(known, ", "))
		}
		Ablations[i].change(s)
	}
	for _, of := range []struct {
		name          string
		share, beside float64
	}{
		{"Shrink", s.Shrink, 0}, {"Shares", slices.Max(s.Shares), 0},
		{"NoTransferMass", s.NoTransferMass, 0}, {"SuccessNoTransfer", s.SuccessNoTransfer, 0},
		{"Moved", s.Moved, 0}, {"Reversed", s.Reversed, 0}, {"TransferTail", s.TransferTail, s.OtherUnits},
		{"NoTransferTail", s.NoTransferTail, s.OtherUnits}, {"ReversedTail", s.ReversedTail, s.OtherUnits},
	} {
		if of.share+of.beside > 1 {
			return fmt.Errorf("%s is a share, and %g is more than %g", of.name, of.share, 1-of.beside)
		}
	}
	return nil
}

// assign sets the field of a name to a number, or to numbers with colons between.
func (s *Settings) assign(field, value string) error {
	v := reflect.ValueOf(s).Elem()
	for name := range strings.SplitSeq(field, ".") {
		if v.Kind() != reflect.Struct || !v.FieldByName(name).IsValid() {
			return fmt.Errorf("there is no field %s", field)
		}
		v = v.FieldByName(name)
	}
	texts := strings.Split(value, ":")
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), len(texts), len(texts))) // the one that it had may be shared
	case reflect.Array:
		if v.Len() != len(texts) {
			return fmt.Errorf("%s holds %d numbers", field, v.Len())
		}
	default:
		if len(texts) > 1 {
			return fmt.Errorf("%s holds one number", field)
		}
	}
	for i, text := range texts {
		e := v
		if k := v.Kind(); k == reflect.Slice || k == reflect.Array {
			e = v.Index(i)
		}
		switch {
		case e.CanFloat():
			x, err := strconv.ParseFloat(text, 64)
			if err != nil || !(x >= 0 && x <= math.MaxFloat64) {
				return fmt.Errorf("%q is no number from 0 on", text)
			}
			e.SetFloat(x)
		case e.CanInt():
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no whole number from 1 on", text)
			}
			e.SetInt(n)
		default:
			return fmt.Errorf("%s holds no number", field)
		}
	}
	if strings.HasSuffix(field, "Range") && !(v.Index(0).Float() > 0 && v.Index(0).Float() <= v.Index(1).Float()) {
		return fmt.Errorf("%s holds two numbers above 0, the smaller one first", field)
	}
	return nil
}
