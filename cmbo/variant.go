package cmbo

import (
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/names"
)

// Distance is a distance between the Gaussian posteriors of two tasks on a
// finite set of points.
type Distance uint8

const (
	// Wasserstein is the 2-Wasserstein distance (not its square), a metric.
	Wasserstein Distance = iota
	// Jeffreys is the Jeffreys divergence, the sum of the Kullback-Leibler
	// divergences both ways; both covariances get the same small jitter.
	Jeffreys
)

var distanceNames = [...]string{"Wasserstein", "Jeffreys"}

// String returns "Wasserstein" or "Jeffreys".
func (d Distance) String() string {
	return names.Of(distanceNames[:], int(d), "Distance")
}

func (d Distance) check() error {
	if int(d) >= len(distanceNames) {
		return optionErrorf("%s is not a distance", d)
	}
	return nil
}

// Grouping is the way tasks come into clusters.
type Grouping uint8

const (
	// Clustered groups tasks by k-means.
	Clustered Grouping = iota
	// Together puts all tasks in one cluster.
	Together
	// Apart makes each task its own cluster.
	Apart
)

// PrototypeKind is the way one Gaussian process stands for a cluster (paper,
// section 3, stage 2).
type PrototypeKind uint8

const (
	// GeometricCenter has the arithmetic mean of the members' means and of
	// their covariances; it is a function, known at every point.
	GeometricCenter PrototypeKind = iota
	// Barycenter is the 2-Wasserstein barycentre with equal weights on the
	// prior's index set, extended to other points by the kernel with the
	// members' median hyperparameters, conditioned on the index set.
	Barycenter
)

var prototypeNames = [...]string{"GeometricCenter", "Barycenter"}

// String returns "GeometricCenter" or "Barycenter".
func (k PrototypeKind) String() string {
	return names.Of(prototypeNames[:], int(k), "PrototypeKind")
}

func (k PrototypeKind) check() error {
	if int(k) >= len(prototypeNames) {
		return optionErrorf("%s is not a kind of prototype", k)
	}
	return nil
}

// A Variant is a choice among what the paper's method leaves open. The zero value
// is [WssClusWssCMP].
type Variant struct {
	// Grouping is how tasks are grouped.
	Grouping Grouping
	// ClusterDistance clusters them; Wasserstein where nothing is clustered.
	ClusterDistance Distance
	// WeightDistance weighs prototypes online. With one prototype it is not used.
	WeightDistance Distance
	// Prototype is what stands for a cluster.
	Prototype PrototypeKind
}

// The seven variants of the paper's section 4.
var (
	// JefClusJefCMP clusters and weighs by Jeffreys divergence.
	JefClusJefCMP = Variant{ClusterDistance: Jeffreys, WeightDistance: Jeffreys}
	// WssClusWssCMP clusters and weighs by Wasserstein distance, with
	// geometric centres.
	WssClusWssCMP = Variant{}
	// JefClusWssCMP clusters by Jeffreys divergence, weighs by Wasserstein
	// distance.
	JefClusWssCMP = Variant{ClusterDistance: Jeffreys}
	// WssClusJefCMP clusters by Wasserstein distance, weighs by Jeffreys
	// divergence.
	WssClusJefCMP = Variant{WeightDistance: Jeffreys}
	// WssClusWssCMPBary is WssClusWssCMP with Wasserstein barycentres as
	// prototypes.
	WssClusWssCMPBary = Variant{Prototype: Barycenter}
	// GlobalCen puts all tasks in one cluster whose geometric centre is a
	// fixed prior.
	GlobalCen = Variant{Grouping: Together}
	// IndiWeightJef makes each task its own cluster, weighed by Jeffreys
	// divergence.
	IndiWeightJef = Variant{Grouping: Apart, WeightDistance: Jeffreys}
)

// Variants returns the seven named variants in the paper's order.
func Variants() []Variant {
	return []Variant{JefClusJefCMP, WssClusWssCMP, JefClusWssCMP, WssClusJefCMP, WssClusWssCMPBary, GlobalCen, IndiWeightJef}
}

// ParseVariant returns the variant that prints as name, letter case ignored.
// It fails with [ErrOption] and lists the names it knows.
func ParseVariant(name string) (Variant, error) {
	for g := range Apart + 1 {
		for c := range Jeffreys + 1 {
			for w := range Jeffreys + 1 {
				for p := range PrototypeKind(len(prototypeNames)) {
					if v := (Variant{g, c, w, p}); v.check() == nil && strings.EqualFold(v.String(), name) {
						return v, nil
					}
				}
			}
		}
	}
	var known []string
	for _, v := range Variants() {
		known = append(known, v.String())
	}
	return Variant{}, optionErrorf("unknown variant %q; the paper names %s", name, strings.Join(known, ", "))
}

// check reports choices that do not exist, and a distance that clusters where
// nothing is clustered.
func (v Variant) check() error {
	if v.Grouping > Apart {
		return optionErrorf("Grouping(%d) is not a way to group tasks", uint8(v.Grouping))
	}
	for _, err := range []error{v.ClusterDistance.check(), v.WeightDistance.check(), v.Prototype.check()} {
		if err != nil {
			return err
		}
	}
	if v.Grouping != Clustered && v.ClusterDistance != Wasserstein {
		return optionErrorf("a distance that clusters contradicts %s, which clusters nothing", v)
	}
	return nil
}

// String returns the paper's name, such as "WssClus_WssCMP_Bary", and for
// other combinations a name built the same way.
func (v Variant) String() string {
	short := func(d Distance) string {
		if d == Wasserstein {
			return "Wss"
		}
		return d.String()[:3]
	}
	var s string
	switch v.Grouping {
	case Together:
		s = "GlobalCen"
		if v.WeightDistance != Wasserstein {
			s += "-" + short(v.WeightDistance)
		}
	case Apart:
		s = "IndiWeight-" + short(v.WeightDistance)
	default:
		s = short(v.ClusterDistance) + "Clus_" + short(v.WeightDistance) + "CMP"
	}
	if v.Prototype == Barycenter {
		s += "_Bary"
	}
	return s
}

// YPolicy says how measured values are brought to a common scale before a
// model sees them, task by task: tuning histories of different data sets share
// the shape of their response, not its units.
type YPolicy uint8

const (
	// ZScore subtracts the mean and divides by the population standard
	// deviation; fewer than two distinct values are only centred. The default,
	// and what the paper's zero-mean priors assume.
	ZScore YPolicy = iota
	// MinMax maps the smallest value to 0 and the largest to 1; fewer than two
	// distinct values become 0.5.
	MinMax
	// RawValues leaves values as they are: for data that is on a common scale. Its
	// name is "none".
	RawValues
	// Copula maps ranks to normal quantiles, ties averaged, with the quantile
	// clipped at 1/(4 n^(1/4) sqrt(pi ln n)) from either end (Winsorised
	// normal scores; Salinas, Shen and Perrone, A quantile-based approach for
	// hyperparameter transfer learning, ICML 2020).
	Copula
)

var yPolicyNames = [...]string{"zscore", "minmax", "none", "copula"}

// String returns the policy's name in lower case.
func (p YPolicy) String() string { return names.Of(yPolicyNames[:], int(p), "YPolicy") }

// ParseYPolicy returns the policy that prints as name, letter case ignored. It
// fails with [ErrOption].
func ParseYPolicy(name string) (YPolicy, error) {
	for p := ZScore; p.valid(); p++ {
		if strings.EqualFold(name, p.String()) {
			return p, nil
		}
	}
	return 0, optionErrorf("unknown y policy %q; there are %s", name, strings.Join(yPolicyNames[:], ", "))
}

func (p YPolicy) valid() bool { return int(p) < len(yPolicyNames) }

// Apply returns the values of one task on the policy's scale. Values of at most
// 1e150 in size give finite results; y is not changed.
func (p YPolicy) Apply(y []float64) []float64 { return p.fit(y).Z }

// fit applies the policy to values.
func (p YPolicy) fit(y []float64) scaling.Values { return scaling.Fit(policies[p], y) }

// What the models call the choices.
var (
	groupings  = map[Grouping]model.Grouping{Clustered: model.Clustered, Together: model.Together, Apart: model.Apart}
	prototypes = map[PrototypeKind]model.PrototypeKind{GeometricCenter: model.GeometricCenter, Barycenter: model.Barycenter}
	policies   = map[YPolicy]scaling.Policy{ZScore: scaling.ZScore, MinMax: scaling.MinMax, RawValues: scaling.Raw, Copula: scaling.Copula}
)
