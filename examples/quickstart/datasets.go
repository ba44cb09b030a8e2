package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// A recipe describes a data set that a generator can make: points of a family,
// spoiled by noise, irrelevant features and wrong labels.
type recipe struct {
	name       string
	family     string
	points     int
	shape      float64 // meaning depends on the family: turns, stripes, overlap ...
	noise      float64 // standard deviation added to the informative features
	irrelevant int     // number of features that say nothing
	flip       float64 // share of labels that are replaced by a wrong one
}

// A dataset is a labelled sample: one point a row, classes from 0.
type dataset struct {
	recipe
	x       *linalg.Dense
	y       []int
	classes int
}

// pastRecipes are the data sets whose tuning runs the optimiser learns from.
var pastRecipes = []recipe{
	{"moons-1", "moons", 160, 0, 0.15, 0, 0.02},
	{"moons-2", "moons", 200, 0, 0.30, 0, 0.00},
	{"moons-3", "moons", 120, 0, 0.20, 3, 0.05},
	{"circles-1", "circles", 160, 0.5, 0.12, 0, 0.02},
	{"circles-2", "circles", 200, 0.7, 0.12, 0, 0.05},
	{"circles-3", "circles", 140, 0.4, 0.15, 4, 0.00},
	{"blobs-1", "blobs", 150, 3, 0.9, 0, 0.00},
	{"blobs-2", "blobs", 200, 5, 0.7, 0, 0.03},
	{"blobs-3", "blobs", 160, 4, 0.6, 5, 0.00},
	{"xor-1", "xor", 160, 2, 0.05, 0, 0.05},
	{"xor-2", "xor", 200, 2, 0.10, 0, 0.02},
	{"xor-3", "xor", 180, 2, 0.05, 2, 0.00},
	{"checkers-1", "checkers", 200, 4, 0.02, 0, 0.00},
	{"checkers-2", "checkers", 220, 3, 0.04, 0, 0.03},
	{"checkers-3", "checkers", 200, 4, 0.00, 0, 0.06},
	{"spirals-1", "spirals", 180, 1.5, 0.04, 0, 0.00},
	{"spirals-2", "spirals", 220, 2.0, 0.05, 0, 0.02},
	{"spirals-3", "spirals", 160, 1.0, 0.08, 1, 0.00},
	{"bands-1", "bands", 160, 3, 0.05, 0, 0.03},
	{"bands-2", "bands", 200, 5, 0.03, 0, 0.00},
	{"bands-3", "bands", 180, 4, 0.04, 2, 0.02},
	{"plane-1", "plane", 120, 0, 0.30, 6, 0.02},
	{"plane-2", "plane", 160, 0, 0.50, 10, 0.00},
	{"plane-3", "plane", 100, 0, 0.20, 15, 0.05},
}

// newRecipes are the data sets to tune. They come from other seeds and other
// parameters than the past ones; no past task has anything of the last family.
var newRecipes = []recipe{
	{"new moons", "moons", 180, 0, 0.25, 1, 0.03},
	{"new checkers", "checkers", 220, 4, 0.03, 0, 0.02},
	{"new spirals", "spirals", 200, 1.7, 0.05, 0, 0.01},
	{"new bands", "bands", 180, 6, 0.03, 0, 0.02},
	{"new blobs", "blobs", 180, 6, 0.7, 2, 0.00},
	{"waves (no such family before)", "waves", 200, 1.5, 0.12, 1, 0.02},
}

// generate makes a data set. The seed and the name decide everything.
func (r recipe) generate(seed uint64) *dataset {
	g := rng.Stream(seed, "data set "+r.name)
	d := &dataset{recipe: r, classes: 2, y: make([]int, r.points)}
	if r.family == "blobs" {
		d.classes = int(r.shape)
	}
	d.x = linalg.NewDense(r.points, 2+r.irrelevant, nil)
	centres := blobCentres(g, d.classes)
	sin, cos := math.Sincos(2 * math.Pi * g.Float64())
	for i := range r.points {
		a, b, class := r.point(g, i%d.classes, centres)
		d.y[i] = class
		if g.Float64() < r.flip {
			d.y[i] = (class + 1 + g.IntN(d.classes-1)) % d.classes
		}
		a += r.noise * g.NormFloat64()
		b += r.noise * g.NormFloat64()
		row := d.x.Row(i)
		row[0], row[1] = cos*a-sin*b, sin*a+cos*b
		for j := 2; j < len(row); j++ {
			row[j] = 0.7 * g.NormFloat64()
		}
	}
	return d
}

// point draws a noise-free point, of the wanted class where the family lets one choose, and returns its class.
func (r recipe) point(g *rand.Rand, class int, centres [][2]float64) (a, b float64, _ int) {
	switch r.family {
	case "moons": // two half circles, one inside the other's opening
		t := math.Pi * g.Float64()
		if class == 0 {
			return math.Cos(t) - 0.5, math.Sin(t) - 0.25, class
		}
		return 0.5 - math.Cos(t), 0.25 - math.Sin(t), class
	case "circles": // one inside the other; shape is the ratio of their radii
		t := 2 * math.Pi * g.Float64()
		radius := 1.0
		if class == 1 {
			radius = r.shape
		}
		return radius * math.Cos(t), radius * math.Sin(t), class
	case "blobs": // shape is the number of classes
		return centres[class][0] + 0.2*g.NormFloat64(), centres[class][1] + 0.2*g.NormFloat64(), class
	case "xor", "checkers": // a board of shape × shape fields
		a, b = 2*g.Float64()-1, 2*g.Float64()-1
		field := func(v float64) int { return int((v + 1) / 2 * r.shape) }
		return a, b, (field(a) + field(b)) % 2
	case "spirals": // two arms of shape turns
		t := math.Sqrt(g.Float64())
		phase := 2*math.Pi*r.shape*t + math.Pi*float64(class)
		return 1.2 * t * math.Cos(phase), 1.2 * t * math.Sin(phase), class
	case "bands": // shape stripes
		a, b = 2*g.Float64()-1, 2*g.Float64()-1
		return a, b, int((a+1)/2*r.shape) % 2
	case "plane": // one side or the other of a straight line
		a, b = g.NormFloat64(), g.NormFloat64()
		if a > 0 {
			return a, b, 1
		}
		return a, b, 0
	case "waves": // above or below a sine of shape periods
		a, b = 2*g.Float64()-1, 2*g.Float64()-1
		if b > 0.5*math.Sin(math.Pi*r.shape*a) {
			return a, b, 1
		}
		return a, b, 0
	}
	panic(fmt.Sprintf("no family %q", r.family))
}

func blobCentres(g *rand.Rand, n int) [][2]float64 {
	return each.Below(n, func(i int) [2]float64 {
		t := 2 * math.Pi * (float64(i) + 0.3*g.Float64()) / float64(n)
		return [2]float64{1.5 * math.Cos(t), 1.5 * math.Sin(t)}
	})
}
