package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
)

func value(f *f64.Radial, s float64) float64 {
	v, _ := f64.Ops.RadialAt(s, f)
	return v
}

// TestExp holds the exponential in the loops to its error bound, against math/big.
// Matern12 with r = √(r²), which is exact, is the exponential itself.
func TestExp(t *testing.T) {
	testutil.SkipRace(t, "one goroutine computes")
	f := &shapes[matern12]
	rng := testutil.RNG(t)
	var rs []float64
	for range trials(3000) {
		rs = append(rs, 708*rng.Float64(), 4*rng.Float64(), math.Exp(-20*rng.Float64()))
	}
	for n := range 1600 { // middles and edges of the table's intervals
		r := float64(n) * math.Ln2 / 1024
		rs = append(rs, r, math.Nextafter(r, 0), math.Nextafter(r, 1e9))
	}
	rs = append(rs, 0, 1e-300, 1e-17, 707.99, 708)
	var worst, at float64
	for _, r := range rs {
		row := []float64{r * r}
		f64.Ops.RadialValues(row, row, 1, 1, f)
		v := row[0]
		val, _ := f64.Ops.RadialAt(r*r, f)
		if val != v {
			t.Fatalf("the two loops give %v and %v at r = %v", v, val, r)
		}
		want := bigExp(-math.Sqrt(r * r))
		d := new(big.Float).Sub(new(big.Float).SetPrec(200).SetFloat64(v), want)
		w, _ := want.Float64()
		e, _ := d.Abs(d).Float64()
		e /= math.Nextafter(w, 2*w) - w
		if e > worst {
			worst, at = e, r
		}
	}
	t.Logf("largest error %.3f units in the last place, at −%g", worst, at)
	if !(worst <= 1.1) {
		t.Errorf("exp(−%g) is off by %.3f units in the last place", at, worst)
	}
	for r := 708.5; r < 760; r += 0.37 {
		// A denormal result has an error of a unit, which does not shrink with it.
		want, _ := bigExp(-math.Sqrt(r * r)).Float64()
		if got := value(f, r*r); !(math.Abs(got-want) <= math.SmallestNonzeroFloat64) {
			t.Errorf("exp(−%g) = %g, want %g", r, got, want)
		}
	}
}

// bigExp returns exp(x) to about 160 bits, by the series at x/2^12 and squaring.
func bigExp(x float64) *big.Float {
	const prec = 200
	return bigExpOf(new(big.Float).SetPrec(prec).SetFloat64(x))
}

func bigExpOf(x *big.Float) *big.Float {
	const prec, halvings = 200, 12
	y := new(big.Float).SetPrec(prec).Set(x)
	y.SetMantExp(y, -halvings)
	sum := new(big.Float).SetPrec(prec).SetInt64(1)
	term := new(big.Float).SetPrec(prec).SetInt64(1)
	for k := int64(1); k < 60; k++ {
		term.Mul(term, y)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(k))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// TestShapes checks the coefficients of each shape against its formula, values in
// math/big and slopes against differences of values.
func TestShapes(t *testing.T) {
	f := bigOf
	root := func(n float64) *big.Float { return new(big.Float).SetPrec(200).Sqrt(f(n)) }
	// poly returns 1 + a·r + b·r².
	poly := func(a, b *big.Float, r float64) *big.Float {
		x := new(big.Float).Mul(b, f(r))
		x.Add(x, a).Mul(x, f(r))
		return x.Add(x, f(1))
	}
	for _, r := range []float64{0, 1e-9, 0.01, 0.3, 1, 2.5, 20, 300} {
		rate := func(a *big.Float) *big.Float {
			x := new(big.Float).Mul(a, f(-r))
			return bigExpOf(x)
		}
		third := new(big.Float).Quo(f(5), f(3))
		both := new(big.Float).Add(f(1), root(3))
		want := map[shape]*big.Float{
			matern12:    rate(f(1)),
			matern32:    new(big.Float).Mul(poly(root(3), f(0), r), rate(root(3))),
			matern52:    new(big.Float).Mul(poly(root(5), third, r), rate(root(5))),
			squaredExp:  bigExp(-r * r / 2),
			matern32x12: new(big.Float).Mul(poly(root(3), f(0), r), rate(both)),
		}
		for s, w := range want {
			got := value(&shapes[s], r*r)
			exact, _ := w.Float64()
			// 4 roundings, and those of the exponent magnified by it.
			x := -math.Log(math.Max(exact, 1e-300))
			if tol := testutil.Gamma(8) * (2 + x); !testutil.Close(got, exact, tol) && exact > 1e-290 {
				t.Errorf("%s(%g) = %v, want %v", shapeNames[s], r, got, exact)
			}
		}
	}
	for s := range shapes {
		for _, r := range []float64{1e-3, 0.1, 0.7, 1.9, 5, 12} {
			_, slope := f64.Ops.RadialAt(r*r, &shapes[s])
			h := r * 1e-5
			d := -r * (value(&shapes[s], (r+h)*(r+h)) - value(&shapes[s], (r-h)*(r-h))) / (2 * h)
			if !(math.Abs(slope-d) <= 1e-8*math.Max(1, r)) {
				t.Errorf("%s: slope %v at %g, %v by differences", shapeNames[s], slope, r, d)
			}
		}
		if v, slope := f64.Ops.RadialAt(0, &shapes[s]); v != 1 || slope != 0 {
			t.Errorf("%s at 0: value %v, slope %v", shapeNames[s], v, slope)
		}
	}
}

// TestValuesScale: the scale and the variance enter as stated, an entry does not
// depend on where it stands, and dst may be the squares themselves.
func TestValuesScale(t *testing.T) {
	sq := []float64{0, 0.5, 2, 7, 1e7, math.Inf(1), 1e5}
	for i := range 30 {
		sq = append(sq, 0.1*float64(i))
	}
	n := len(sq)
	for s := range shapes {
		f := &shapes[s]
		dst, val, slope := make([]float64, n), make([]float64, n), make([]float64, n)
		f64.Ops.RadialValues(dst, sq, 4, 3, f)
		f64.Ops.RadialSlopes(val, slope, sq, 4, f)
		for i, q := range sq {
			v, g := f64.Ops.RadialAt(4*q, f)
			if dst[i] != 3*v || val[i] != v || slope[i] != g {
				t.Errorf("%s at %g: %v, %v, %v; want %v, %v, %v", shapeNames[s], q, dst[i], val[i], slope[i], 3*v, v, g)
			}
		}
		in := append([]float64(nil), sq...)
		f64.Ops.RadialValues(in, in, 4, 3, f)
		for _, alias := range [][2][]float64{{append([]float64(nil), sq...), nil}, {nil, append([]float64(nil), sq...)}} {
			a, b, src := alias[0], alias[1], alias[0]
			if a == nil {
				a, src = make([]float64, n), b
			} else {
				b = make([]float64, n)
			}
			f64.Ops.RadialSlopes(a, b, src, 4, f)
			for i := range sq {
				if a[i] != val[i] || b[i] != slope[i] || in[i] != dst[i] {
					t.Errorf("%s: results depend on aliasing", shapeNames[s])
				}
			}
		}
	}
}

// trials returns n, or less in short mode.
func trials(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func bigOf(v float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(v) }

// TestStationaryError holds Eval to the bound in the comment of Stationary, with
// distances in long arithmetic, for the shape without and one with a polynomial.
func TestStationaryError(t *testing.T) {
	rng := testutil.RNG(t)
	var worst float64
	for range trials(2000) {
		d := 1 + rng.IntN(12)
		x, y, ls := make([]float64, d), make([]float64, d), make([]float64, d)
		for i := range d {
			ls[i] = math.Exp(2 * rng.NormFloat64())
			x[i] = rng.NormFloat64()
			y[i] = x[i] + ls[i]*rng.NormFloat64()*math.Exp(2*rng.NormFloat64())
		}
		s := bigOf(0)
		for i := range d {
			v := new(big.Float).Sub(bigOf(x[i]), bigOf(y[i]))
			v.Quo(v, bigOf(ls[i]))
			s.Add(s, v.Mul(v, v))
		}
		r := new(big.Float).Sqrt(s)
		scaled := new(big.Float).Mul(r, new(big.Float).Sqrt(bigOf(3)))
		e32 := bigExpOf(new(big.Float).Neg(scaled))
		for _, c := range []struct {
			k        Stationary
			want     *big.Float
			exponent *big.Float
		}{
			{Matern12(ls...), bigExpOf(new(big.Float).Neg(r)), r},
			{Matern32(ls...), new(big.Float).Mul(e32, new(big.Float).Add(scaled, bigOf(1))), scaled},
			{SquaredExp(ls...), bigExpOf(new(big.Float).Mul(s, bigOf(-0.5))), new(big.Float).Mul(s, bigOf(0.5))},
		} {
			e, _ := c.exponent.Float64()
			want, _ := c.want.Float64()
			if e > 700 {
				continue
			}
			units := testutil.RelErr(c.k.Eval(x, y), want) / testutil.Unit / ((float64(d) + 16) * (1 + e))
			worst = math.Max(worst, units)
			if !(units <= 1) {
				t.Fatalf("%v: error %.2f of the bound at exponent %g", c.k, units, e)
			}
		}
	}
	t.Logf("largest error: %.2f of the bound", worst)
}

// TestFast: a stationary kernel, scaled or not, is one for the loops over many points,
// and no other is.
func TestFast(t *testing.T) {
	variance, factors, st, ok := fast(Scale(2, Scale(3, Matern52(0.5))))
	if !ok || variance != 6 || factors != 2 || st.shape != matern52 {
		t.Errorf("variance %g of %d factors, %v, %v", variance, factors, st, ok)
	}
	for _, k := range []Kernel{Constant(2), Scale(2, Constant(3)), Sum(Matern32(1), Matern32(2)), Product(Matern32(1), Constant(2))} {
		if _, _, _, ok := fast(k); ok {
			t.Errorf("%v", k)
		}
	}
}
