package spectral

import "math"

// secularRoot returns the root λ_j, j from 0, of the secular equation
//
//	f(λ) = 1/ρ + Σ_i z_i²/(d_i − λ) = 0
//
// for ascending d without repetitions, zz = z² > 0 and ρ > 0, and sets delta to the differences d_i − λ_j with small
// relative errors. The root lies between d_j and d_{j+1}, the last one between d_{k−1} and d_{k−1} + ρ·Σz_i².
//
// The unknown is the distance τ to the nearer pole. Each step interpolates f by a constant and the two poles beside the
// root, with weights that match the derivatives of the sums over the poles on either side, the middle way of R.-C. Li
// (Solving secular equations stably and efficiently, LAPACK Working Note 89, 1993); a step that leaves the bracket of
// the root, and every step after the tenth, halves the bracket instead. So it ends when the bracket has no number
// inside at the latest, after 130 steps where a weight is 1e-30, usually after four; their number is returned.
func secularRoot(j int, rho float64, d, zz, delta []float64) (root float64, steps int) {
	inv := 1 / rho
	last := j == len(d)-1

	// Bracket of the distance from d_j.
	lo, hi := 0.0, 0.0
	if last {
		for _, v := range zz {
			hi += v
		}
		hi *= rho
	} else {
		hi = d[j+1] - d[j]
	}
	origin, tau := d[j], hi/2
	differences(delta, d, origin)
	psi, dpsi, phi, dphi := secular(j, tau, zz, delta)
	w := inv + psi + phi
	if last {
		hi += hi // where one pole has all the weight the root is at the end, but for rounding
	} else if w < 0 { // the root is nearer to the next pole
		origin, tau, hi = d[j+1], -tau, 0
		differences(delta, d, origin)
	}
	// Until f is within the rounding of its sums, in units, and that of τ.
	for !(math.Abs(w) <= 0x1p-56*float64(64+len(d))*(inv-psi+phi)+0x1p-53*math.Abs(tau)*(dpsi+dphi)) {
		if w < 0 {
			lo = tau
		} else {
			hi = tau
		}
		next := lo + (hi-lo)/2
		if steps < 10 {
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
		if !(next > lo && next < hi) {
			break // the bracket has no number inside
		}
		tau = next
		psi, dpsi, phi, dphi = secular(j, tau, zz, delta)
		w = inv + psi + phi
		steps++
	}
	differences(delta, delta, tau)
	return origin + tau, steps
}

// differences sets dst to d − origin.
func differences(dst, d []float64, origin float64) {
	for i, v := range d {
		dst[i] = v - origin
	}
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
	psi, dpsi = poles(tau, zz[:j+1], delta[:j+1])
	phi, dphi = poles(tau, zz[j+1:], delta[j+1:])
	return
}

func poles(tau float64, zz, delta []float64) (sum, slope float64) {
	for i, v := range delta {
		r := 1 / (v - tau)
		t := zz[i] * r
		sum += t
		slope += t * r
	}
	return
}
