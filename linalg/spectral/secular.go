package spectral

import "math"

// secularRoot returns the root λ_j, j from 0, of the secular equation
//
//	f(λ) = 1/ρ + Σ_i z_i²/(d_i − λ) = 0
//
// for ascending d without repetitions, zz = z² > 0 and ρ > 0, and sets delta to
// the differences d_i − λ_j with small relative errors. The root lies between d_j
// and d_{j+1}, the last one between d_{k−1} and d_{k−1} + ρ·Σz_i².
//
// The unknown is the distance τ to the nearer pole. Each step interpolates f by
// a constant and the two poles beside the root, with weights that match the
// derivatives of the sums over the poles on either side, the middle way of R.-C.
// Li (Solving secular equations stably and efficiently, LAPACK Working Note 89,
// 1993); a step that leaves the bracket of the root, and every step after the
// tenth, halves the bracket instead. So it ends after some 70 evaluations at the
// latest, usually after five.
func secularRoot(j int, rho float64, d, zz, delta []float64) float64 {
	k := len(d)
	d, zz = d[:k], zz[:k]
	delta = delta[:k]
	inv := 1 / rho
	last := j == k-1

	// Origin and bracket: the side of the midpoint the root is on.
	var width float64
	if last {
		var s float64
		for _, v := range zz {
			s += v
		}
		width = rho * s
	} else {
		width = d[j+1] - d[j]
	}
	origin, lo, hi := d[j], 0.0, width
	for i, v := range d {
		delta[i] = v - origin
	}
	tau := width / 2
	psi, dpsi, phi, dphi := secular(j, tau, zz, delta)
	w := inv + psi + phi
	if !last {
		if w < 0 {
			origin = d[j+1]
			for i, v := range d {
				delta[i] = v - origin
			}
			tau = -width / 2
			lo, hi = tau, 0
		} else {
			hi = tau
		}
	} else if w < 0 {
		lo = tau
	} else {
		hi = tau
	}
	size := 8 + float64(k)/8 // rounding of the sums, in units
	for iter := 0; ; iter++ {
		if math.Abs(w) <= 0x1p-53*(size*(inv+math.Abs(psi)+math.Abs(phi))+math.Abs(tau)*(dpsi+dphi)) {
			break
		}
		if w < 0 {
			lo = math.Max(lo, tau)
		} else {
			hi = math.Min(hi, tau)
		}
		next := lo + (hi-lo)/2
		if iter < 10 {
			var eta float64
			dj := delta[j] - tau
			if last {
				// One pole: f ≈ c + s/(d_j − λ).
				eta = dj * w / (w - dj*dpsi)
			} else {
				eta = middleWay(w, dpsi, dphi, dj, delta[j+1]-tau)
			}
			if t := tau + eta; t > lo && t < hi {
				next = t
			}
		}
		if next == tau || !(next > lo && next < hi) {
			break // the bracket has no number inside
		}
		tau = next
		psi, dpsi, phi, dphi = secular(j, tau, zz, delta)
		w = inv + psi + phi
	}
	for i := range delta {
		delta[i] -= tau
	}
	return origin + tau
}

// middleWay returns the step to the root of c + s/(Δ₀ − η) + S/(Δ₁ − η) that
// matches f = w at η = 0 and the derivatives of its two parts.
func middleWay(w, dpsi, dphi, d0, d1 float64) float64 {
	c := w - d0*dpsi - d1*dphi
	a := (d0+d1)*w - d0*d1*(dpsi+dphi)
	b := d0 * d1 * w
	root := math.Sqrt(max(a*a-4*b*c, 0))
	if a <= 0 {
		return (a - root) / (2 * c)
	}
	return 2 * b / (a + root)
}

// secular returns the sums over the poles up to j, and over those after it, and
// their derivatives, at distance tau from the origin of delta.
func secular(j int, tau float64, zz, delta []float64) (psi, dpsi, phi, dphi float64) {
	zz = zz[:len(delta)]
	for i, v := range delta[:j+1] {
		r := 1 / (v - tau)
		t := zz[i] * r
		psi += t
		dpsi += t * r
	}
	for i := j + 1; i < len(delta); i++ {
		r := 1 / (delta[i] - tau)
		t := zz[i] * r
		phi += t
		dphi += t * r
	}
	return
}
