package paper

import (
	"fmt"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/names"
)

// Distance is a distance between the Gaussian posteriors of two tasks on a finite set of points.
type Distance uint8

const (
	// Wasserstein is the 2-Wasserstein distance (not its square), a metric.
	Wasserstein Distance = iota
	// Jeffreys is the Jeffreys divergence, the sum of the Kullback-Leibler
	// divergences both ways; both covariances get the same small jitter.
	Jeffreys
)

// String returns "Wasserstein" or "Jeffreys".
func (d Distance) String() string {
	return names.Of([]string{"Wasserstein", "Jeffreys"}, int(d), "Distance")
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

// PrototypeKind is the way one Gaussian process stands for a cluster (paper, section 3, stage 2).
type PrototypeKind uint8

const (
	// GeometricCenter has the arithmetic mean of the members' means and of
	// their covariances; it is a function, known at every point.
	GeometricCenter PrototypeKind = iota
	// Barycenter is the 2-Wasserstein barycentre with equal weights on the prior's index set, extended to other points by
	// the kernel with the members' median hyperparameters, conditioned on the index set.
	Barycenter
)

// String returns "GeometricCenter" or "Barycenter".
func (k PrototypeKind) String() string {
	return names.Of([]string{"GeometricCenter", "Barycenter"}, int(k), "PrototypeKind")
}

// A Variant is a choice among what the paper's method leaves open. The zero value is [WssClusWssCMP].
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
	JefClusJefCMP     = Variant{ClusterDistance: Jeffreys, WeightDistance: Jeffreys}
	WssClusWssCMP     = Variant{}
	JefClusWssCMP     = Variant{ClusterDistance: Jeffreys}
	WssClusJefCMP     = Variant{WeightDistance: Jeffreys}
	WssClusWssCMPBary = Variant{Prototype: Barycenter}
	GlobalCen         = Variant{Grouping: Together} // whose geometric centre is a fixed prior
	IndiWeightJef     = Variant{Grouping: Apart, WeightDistance: Jeffreys}
)

// Variants returns the seven named variants in the paper's order.
func Variants() []Variant {
	return []Variant{JefClusJefCMP, WssClusWssCMP, JefClusWssCMP, WssClusJefCMP, WssClusWssCMPBary, GlobalCen,
		IndiWeightJef}
}

// check reports choices that do not exist, and a distance that clusters where nothing is clustered.
func (v Variant) check() error {
	switch {
	case v.Grouping > Apart:
		return gp.OptionErrorf("Grouping(%d) is not a way to group tasks", uint8(v.Grouping))
	case v.ClusterDistance > Jeffreys:
		return gp.OptionErrorf("%s is not a distance", v.ClusterDistance)
	case v.WeightDistance > Jeffreys:
		return gp.OptionErrorf("%s is not a distance", v.WeightDistance)
	case v.Prototype > Barycenter:
		return gp.OptionErrorf("%s is not a kind of prototype", v.Prototype)
	case v.Grouping != Clustered && v.ClusterDistance != Wasserstein:
		return gp.OptionErrorf("a distance that clusters contradicts %s, which clusters nothing", v)
	}
	return nil
}

// String returns the paper's name, such as "WssClus_WssCMP_Bary", and for other combinations a name built the same way.
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
	case Clustered:
		s = short(v.ClusterDistance) + "Clus_" + short(v.WeightDistance) + "CMP"
	default:
		s = fmt.Sprintf("Grouping(%d)", uint8(v.Grouping))
	}
	if v.Prototype == Barycenter {
		s += "_Bary"
	}
	return s
}
