package spectral

import "math"

// poleTable is a rational approximation of the square root on [1/kappa, 1].
type poleTable struct {
	kappa float64
	s, w  []float64
}

// polesFor returns the smallest table for condition number kappa, the largest
// one there is if kappa is beyond all, or NaN.
func polesFor(kappa float64) *poleTable {
	for i := range poleTables[:len(poleTables)-1] {
		if kappa <= poleTables[i].kappa {
			return &poleTables[i]
		}
	}
	return &poleTables[len(poleTables)-1]
}

// inverseTrace returns tr (BᵀB)⁻¹ = Σ 1/σ_i² for the upper bidiagonal matrix B
// with squared diagonal a2 and squared superdiagonal b2, by a recurrence of
// positive terms: with ρ_n = a_n², ρ_i = a_i²·ρ_{i+1}/(b_i² + ρ_{i+1}) it is
// Σ 1/ρ_i. It is +Inf if B is singular or close to it.
func inverseTrace(a2, b2 []float64) float64 {
	var sum, rho float64
	for i := len(a2) - 1; i >= 0; i-- {
		if i == len(a2)-1 {
			rho = a2[i]
		} else {
			rho = a2[i] * (rho / (b2[i] + rho))
		}
		sum += 1 / rho
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}
