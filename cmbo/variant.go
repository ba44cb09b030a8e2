package cmbo

import (
	"fmt"
	"strings"
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

// String returns "Wasserstein" or "Jeffreys".
func (d Distance) String() string {
	switch d {
	case Wasserstein:
		return "Wasserstein"
	case Jeffreys:
		return "Jeffreys"
	}
	return fmt.Sprintf("Distance(%d)", d)
}

// PrototypeKind is the way one Gaussian process stands for a cluster (paper,
// section 3, stage 2).
type PrototypeKind uint8

const (
	// GeometricCenter has the arithmetic mean of the members' means and of
	// their covariances; it is a function, known at every point.
	GeometricCenter PrototypeKind = iota
	// Barycenter is the 2-Wasserstein barycentre with equal weights on the
	// prior's index set, carried to other points by the kernel with the
	// members' median hyperparameters, conditioned on the index set.
	Barycenter
	// TotalCenter is the geometric centre plus the covariance of the members'
	// means around their mean, so that its variance is that of a task drawn
	// from the cluster (law of total variance). It goes beyond the paper, whose
	// prototypes hold nothing of the spread between tasks.
	TotalCenter
)

// String returns "GeometricCenter", "Barycenter" or "TotalCenter".
func (k PrototypeKind) String() string {
	switch k {
	case GeometricCenter:
		return "GeometricCenter"
	case Barycenter:
		return "Barycenter"
	case TotalCenter:
		return "TotalCenter"
	}
	return fmt.Sprintf("PrototypeKind(%d)", k)
}

// A Variant fixes how tasks are grouped, which distance clusters them, what
// the prototypes are and which distance weighs them online. The named
// constants are the seven variants of the paper's section 4; [WithClusterDistance],
// [WithWeightDistance] and [WithPrototype] make the combinations it does not name.
type Variant uint8

const (
	variantJeffreysClusters Variant = 1 << iota
	variantJeffreysWeights
	variantBarycenter
	variantGlobal
	variantIndividual
	variantTotal

	variantEnd
)

const (
	// WssClusWssCMP clusters and weighs by Wasserstein distance, with
	// geometric centres. The default.
	WssClusWssCMP Variant = 0
	// JefClusJefCMP clusters and weighs by Jeffreys divergence.
	JefClusJefCMP = variantJeffreysClusters | variantJeffreysWeights
	// JefClusWssCMP clusters by Jeffreys divergence, weighs by Wasserstein
	// distance.
	JefClusWssCMP = variantJeffreysClusters
	// WssClusJefCMP clusters by Wasserstein distance, weighs by Jeffreys
	// divergence.
	WssClusJefCMP = variantJeffreysWeights
	// WssClusWssCMPBary is WssClusWssCMP with Wasserstein barycentres as
	// prototypes.
	WssClusWssCMPBary = variantBarycenter
	// GlobalCen puts all tasks in one cluster whose geometric centre is a
	// fixed prior.
	GlobalCen = variantGlobal
	// IndiWeightJef makes each task its own cluster, weighed by Jeffreys
	// divergence.
	IndiWeightJef = variantIndividual | variantJeffreysWeights
)

// Variants returns the seven named variants in the paper's order.
func Variants() []Variant {
	return []Variant{JefClusJefCMP, WssClusWssCMP, JefClusWssCMP, WssClusJefCMP, WssClusWssCMPBary, GlobalCen, IndiWeightJef}
}

// ParseVariant returns the variant that prints as name, letter case ignored.
// It fails with [ErrOption] and lists the names it knows.
func ParseVariant(name string) (Variant, error) {
	for v := range variantEnd {
		if v.valid() && strings.EqualFold(v.String(), name) {
			return v, nil
		}
	}
	var known []string
	for _, v := range Variants() {
		known = append(known, v.String())
	}
	return 0, optionErrorf("unknown variant %q; the paper names %s", name, strings.Join(known, ", "))
}

// ClusterDistance returns the distance used to cluster tasks.
func (v Variant) ClusterDistance() Distance {
	if v&variantJeffreysClusters != 0 {
		return Jeffreys
	}
	return Wasserstein
}

// WeightDistance returns the distance used to weigh prototypes online.
func (v Variant) WeightDistance() Distance {
	if v&variantJeffreysWeights != 0 {
		return Jeffreys
	}
	return Wasserstein
}

// Prototype returns the kind of prototype.
func (v Variant) Prototype() PrototypeKind {
	switch {
	case v&variantBarycenter != 0:
		return Barycenter
	case v&variantTotal != 0:
		return TotalCenter
	}
	return GeometricCenter
}

// clustered reports whether tasks are clustered at all.
func (v Variant) clustered() bool { return v&(variantGlobal|variantIndividual) == 0 }

// valid reports whether the combination means something: one grouping, and no
// clustering distance where nothing is clustered.
func (v Variant) valid() bool {
	if v >= variantEnd || v&variantGlobal != 0 && v&variantIndividual != 0 || v&variantBarycenter != 0 && v&variantTotal != 0 {
		return false
	}
	return v.clustered() || v&variantJeffreysClusters == 0
}

// String returns the paper's name, such as "WssClus_WssCMP_Bary", and for
// other combinations a name built the same way.
func (v Variant) String() string {
	if !v.valid() {
		return fmt.Sprintf("Variant(%d)", uint8(v))
	}
	short := func(d Distance) string {
		if d == Jeffreys {
			return "Jef"
		}
		return "Wss"
	}
	var s string
	switch {
	case v&variantGlobal != 0:
		s = "GlobalCen"
		if v&variantJeffreysWeights != 0 {
			s += "-Jef" // one prototype: the distance is reported, not used
		}
	case v&variantIndividual != 0:
		s = "IndiWeight-" + short(v.WeightDistance())
	default:
		s = short(v.ClusterDistance()) + "Clus_" + short(v.WeightDistance()) + "CMP"
	}
	switch v.Prototype() {
	case Barycenter:
		s += "_Bary"
	case TotalCenter:
		s += "_Total"
	}
	return s
}
