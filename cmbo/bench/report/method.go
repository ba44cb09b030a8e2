package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/plot"
)

// family tells apart the methods that the report groups.
type family int

const (
	ownFamily   family = iota // cm-BO: the paper's variants and what extends them
	reference                 // random search and the plain Gaussian process
	rivalFamily               // all others
)

// String names the family in tables.
func (f family) String() string {
	return [...]string{"cm-BO", "reference", "rival"}[f]
}

func familyOf(method string) family {
	switch {
	case method == "Random" || method == "GP":
		return reference
	case strings.HasPrefix(method, standard):
		return ownFamily
	}
	for _, v := range paper.Variants() {
		if v.String() == method {
			return ownFamily
		}
	}
	return rivalFamily
}

// standard is the name of cm-BO as the library runs it unless told otherwise.
const standard = "cm-BO"

// roster orders methods and gives each a look that is the same in all figures.
type roster struct {
	place map[string]int
	style map[string]int
}

// newRoster places cm-BO first, then the references, the rivals known to package
// baseline in its order, and at last the names nobody knows.
func newRoster(methods []string) *roster {
	var own, others []string
	own = append(own, standard)
	for _, v := range paper.Variants() {
		own = append(own, v.String())
	}
	for _, m := range baseline.Methods() {
		if familyOf(m.Name) == rivalFamily {
			others = append(others, m.Name)
		}
	}
	for _, m := range slices.Sorted(slices.Values(methods)) {
		if familyOf(m) == ownFamily && !slices.Contains(own, m) {
			own = append(own, m)
		} else if familyOf(m) == rivalFamily && !slices.Contains(others, m) {
			others = append(others, m)
		}
	}
	r := &roster{place: map[string]int{}, style: map[string]int{}}
	for _, m := range slices.Concat(own, []string{"Random", "GP"}, others) {
		r.place[m] = len(r.place)
	}
	// A quarter of the looks is solid, one dashed, one dotted, one both, and the last of
	// each is grey: solid for cm-BO, grey for the references, the rest for the
	// rivals. The default variant's own hue goes to rivals last.
	const quarter = plot.NumStyles / 4
	r.style["GP"], r.style["Random"] = 2*quarter, 3*quarter
	var looks []int
	for k := 1; k < plot.NumStyles; k++ {
		if k != 2*quarter && k != 2*quarter+1 && k != 3*quarter {
			looks = append(looks, k)
		}
	}
	looks = append(looks, 2*quarter+1)
	for i, m := range slices.Concat(own, others) {
		r.style[m] = looks[i%len(looks)]
	}
	return r
}

func (r *roster) compare(a, b string) int {
	return cmp.Or(cmp.Compare(r.place[a], r.place[b]), strings.Compare(a, b))
}

// compareAcquisitions orders acquisition functions as the paper shows them.
func compareAcquisitions(a, b string) int {
	rank := func(s string) int {
		for i, p := range []string{"UCB", "EI", "PI"} {
			if strings.HasPrefix(s, p) {
				return i
			}
		}
		return 3
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}
