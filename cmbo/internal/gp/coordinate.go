package gp

import (
	"slices"

	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
)

// A Coordinate of the unit cube is of a parameter. Those of one parameter have one lengthscale: a choice among several is
// encoded in more than one. Parameters of one kind may share it, numbers or choices: distances of the one, parts of a range,
// do not compare with those of the other, which are equal or not.
type Coordinate struct {
	Param int // its number
	Kind  int // 0 if it is a number as the first parameter is, or a choice as that is, else 1
}

// Numbers are dim coordinates, each of which is a number.
func Numbers(dim int) []Coordinate {
	return each.Below(dim, func(j int) Coordinate { return Coordinate{Param: j} })
}

// Coordinates are those of the points of a space.
func Coordinates(s *space.Space) (c []Coordinate) {
	params := s.Params()
	choice := func(p space.Param) bool { return p.Kind() == space.KindCategorical || p.Kind() == space.KindBool }
	for i, p := range params {
		kind := 0
		if choice(p) != choice(params[0]) {
			kind = 1
		}
		c = append(c, slices.Repeat([]Coordinate{{i, kind}}, max(len(p.Choices()), 1))...)
	}
	return c
}

// forms returns those of a kernel of a shape, at the centres of the hyperparameters' priors: with a length for each kind, and
// with one for each parameter where that is another form; and the kernels with one length and with one for each coordinate.
func forms(coordinates []Coordinate, shape func(lengths ...float64) kernel.Stationary) (forms []Form, kernels []kernel.Kernel) {
	dim, last := len(coordinates), -1
	p := gaussian.DefaultPriors(dim)
	kernels = []kernel.Kernel{AtCentre(p, shape, 1), AtCentre(p, shape, dim)}
	for _, number := range []func(c Coordinate) int{
		func(c Coordinate) int { return c.Kind },
		func(c Coordinate) int { return c.Param },
	} {
		tied, most := []int{0}, 0 // of the kernel's parameters, the variance being the first
		for _, c := range coordinates {
			tied, most = append(tied, 1+number(c)), max(most, number(c))
		}
		switch {
		case most == last:
		case most == 0:
			forms = append(forms, Form{Kernel: kernels[0]})
		default:
			forms = append(forms, Form{kernels[1], tied})
		}
		last = most
	}
	return forms, kernels
}
