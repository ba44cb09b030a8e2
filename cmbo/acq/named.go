package acq

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// named holds the functions that [Parse] knows, by their names in lower case. Each
// makes a function from the text in parentheses after its name, "" without.
var named = map[string]func(arg string) (Func, error){
	"ucb":        parameter(UCB{DefaultBeta}, func(v float64) Func { return UCB{v} }),
	"ei":         parameter(AdaptiveEI, func(v float64) Func { return EI{v} }),
	"pi":         parameter(AdaptivePI, func(v float64) Func { return PI{v} }),
	"maxvaluepi": parameter(MaxValuePI, nil),
	"thompson":   parameter(Thompson, nil),
}

var namedLock sync.RWMutex

// parameter makes without from an empty text, and with of a number; a nil with takes none.
func parameter(without Func, with func(v float64) Func) func(string) (Func, error) {
	return func(arg string) (Func, error) {
		if arg == "" {
			return without, nil
		}
		if with == nil {
			return nil, fmt.Errorf("%s takes no parameter", without)
		}
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return nil, err
		}
		f := with(v)
		return f, Validate(f)
	}
}

// Validate returns what the method Validate of f says of its parameters, nil if f has none. Functions of this package
// refuse parameters that are not finite, and a negative Beta.
func Validate(f Func) error {
	if v, ok := f.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Register makes [Parse] know a function by a name: parse is given the text in parentheses after it, "" without. Snapshots
// of a run can then name it, given that its String returns a text from which Parse makes an equal value. Call it from an
// init function. It panics if the name is known, empty, has spaces around it or holds a parenthesis, or if parse is nil.
func Register(name string, parse func(arg string) (Func, error)) {
	namedLock.Lock()
	defer namedLock.Unlock()
	key := strings.ToLower(name)
	if key == "" || key != strings.TrimSpace(key) || strings.ContainsAny(key, "()") || named[key] != nil || parse == nil {
		const format = "acq: Register: the name %q is empty, has spaces around it, holds a parenthesis or is taken, or parse is nil"
		panic(fmt.Sprintf(format, name))
	}
	named[key] = parse
}

// Parse returns the function of a name, its letter case ignored, with its parameter in parentheses if it has one: "UCB"
// (with [DefaultBeta]), "UCB(2)", "EI", "PI", "MaxValuePI", "Thompson", "EI(0.5)" and "PI(0.5)" with a fixed value to
// improve on, and names that were registered. It fails if there is none of that name or the parameter does not suit it.
func Parse(name string) (Func, error) {
	key, arg := strings.TrimSpace(name), ""
	if i := strings.IndexByte(key, '('); i >= 0 && i < len(key)-2 && strings.HasSuffix(key, ")") {
		key, arg = key[:i], key[i+1:len(key)-1]
	}
	key = strings.ToLower(key)
	namedLock.RLock()
	defer namedLock.RUnlock()
	parse := named[key]
	if parse == nil {
		return nil, fmt.Errorf("unknown acquisition %q; there are %s",
			name, strings.Join(slices.Sorted(maps.Keys(named)), ", "))
	}
	f, err := parse(arg)
	if err != nil {
		return nil, fmt.Errorf("acquisition %q: %w", name, err)
	}
	return f, nil
}
