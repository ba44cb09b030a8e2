package cmbo

import (
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/names"
)

// YPolicy says how measured values are brought to a common scale before a model sees them, task by
// task: tuning histories of different data sets share the shape of their response, not its units.
type YPolicy uint8

const (
	// ZScore subtracts the mean and divides by the population standard deviation; fewer than two
	// distinct values are only centred. The default, and what the paper's zero-mean priors assume.
	ZScore YPolicy = iota
	// MinMax maps the smallest value to 0 and the largest to 1; fewer than two distinct values become 0.5.
	MinMax
	// RawValues leaves values as they are: for data that is on a common scale. Its name is "none".
	RawValues
	// Copula maps ranks to normal quantiles, ties averaged, with the quantile clipped at 1/(4
	// n^(1/4) sqrt(pi ln n)) from either end (Winsorised normal scores; Salinas, Shen and Perrone,
	// A quantile-based approach for hyperparameter transfer learning, ICML 2020).
	Copula
)

var yPolicyNames = [...]string{"zscore", "minmax", "none", "copula"}

// String returns the policy's name in lower case.
func (p YPolicy) String() string { return names.Of(yPolicyNames[:], int(p), "YPolicy") }

// ParseYPolicy returns the policy that prints as name, letter case ignored. It fails with [ErrOption].
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

// fit applies the policy to values; package scaling has the policies in the same order.
func (p YPolicy) fit(y []float64) scaling.Values { return scaling.Fit(scaling.Policy(p), y) }
