package curve

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// draw returns curves of n steps whose values come nearer to their ends.
func draw(r *rand.Rand, n, steps int, shift, unit float64) []Curve {
	cs := make([]Curve, n)
	for i := range cs {
		end := r.NormFloat64()
		cs[i].End = shift + unit*end
		for k := range steps {
			w := float64(k+1) / float64(steps+1)
			cs[i].Steps = append(cs[i].Steps, k+1)
			cs[i].Values = append(cs[i].Values, shift+unit*(end*w+(1-w)*(0.7*r.NormFloat64()-1)))
		}
	}
	return cs
}

// End is end in the unit of values.
func (l Law) End(v float64) (mean, variance float64) { return l.to.raw(l.end(v)) }

func ends(cs []Curve) []float64 {
	var y []float64
	for _, c := range cs {
		y = append(y, c.End)
	}
	return y
}

func TestAt(t *testing.T) {
	c := Curve{Steps: []int{0, 2, 6}, Values: []float64{1, 3, 5}}
	for step, want := range map[int]float64{0: 1, 1: 2, 2: 3, 3: 3.5, 5: 4.5, 6: 5} {
		got, ok := c.At(step)
		assert.True(t, ok)
		assert.InDelta(t, want, got, 1e-15)
	}
	for _, step := range []int{-1, 7} {
		_, ok := c.At(step)
		assert.False(t, ok)
	}
	_, ok := (&Curve{}).At(0)
	assert.False(t, ok)
}

// A law is the weighted least squares fit, here solved by its normal equations, in which all
// curves of the past count as ten; its predictive variance is that of Student's distribution.
func TestLawIsWeightedLeastSquares(t *testing.T) {
	r := testutil.RNG(t)
	for _, c := range []struct {
		past bool
		unit float64 // of the run's own curves
	}{{true, 2}, {false, 2}, {false, 0.01}, {true, 20}} {
		past := c.past
		tasks := []Evaluations{{Curves: draw(r, 30, 8, 100, 3)}, {Curves: draw(r, 20, 8, -5, 0.1)}, {Ends: []float64{1, 2, 3}}}
		tasks[0].Ends, tasks[1].Ends = append(ends(tasks[0].Curves), 90, 91), ends(tasks[1].Curves)
		var p *Past
		to := Scale{Shift: 7, Unit: 2, Floor: math.Inf(-1)}
		if past {
			p = Learn(tasks)
			require.Len(t, p.tasks, 2)
			to = p.Scale(7, 2, scaling.Low{})
			assert.Equal(t, 7+2*p.floor, to.Floor)
		}
		own := draw(r, 9, 8, 7, c.unit)
		const step = 7
		type row struct{ w, v, y float64 }
		var rows []row
		if past {
			for _, task := range tasks[:2] {
				s, ok := Standardize(task.Ends)
				require.True(t, ok)
				for _, c := range task.Curves {
					rows = append(rows, row{10. / 50, s.To(c.Values[step-1]), s.To(c.End)})
				}
			}
		}
		for _, c := range own {
			rows = append(rows, row{1, to.To(c.Values[step-1]), to.To(c.End)})
		}
		var gram [2][2]float64
		var rhs [2]float64
		var n, sum, square float64
		for _, w := range rows {
			for i, a := range []float64{1, w.v} {
				rhs[i] += w.w * a * w.y
				for j, b := range []float64{1, w.v} {
					gram[i][j] += w.w * a * b
				}
			}
			n, sum, square = n+w.w, sum+w.w*w.y, square+w.w*w.y*w.y
		}
		det := gram[0][0]*gram[1][1] - gram[0][1]*gram[1][0]
		solve := func(a, b float64) [2]float64 {
			return [2]float64{(gram[1][1]*a - gram[0][1]*b) / det, (gram[0][0]*b - gram[1][0]*a) / det}
		}
		coef := solve(rhs[0], rhs[1])
		var rss float64
		for _, w := range rows {
			e := w.y - coef[0] - coef[1]*w.v
			rss += w.w * e * e
		}
		law := p.Law(step, to, own)
		require.True(t, law.Known())
		for _, v := range []float64{7 - 1.5*c.unit, 7, 7 + 1.25*c.unit} {
			z := to.To(v)
			lever := solve(1, z)
			dof := n - 2
			wantMean := 7 + 2*(coef[0]+coef[1]*z)
			wantVariance := 4 * rss / dof * (1 + lever[0] + z*lever[1]) * dof / (dof - 2)
			mean, variance := law.End(v)
			assert.InDelta(t, wantMean, mean, 1e-10*(1+c.unit))
			assert.InEpsilon(t, wantVariance, variance, 1e-8)
			// The evidence times the distribution of all ends is that of the end.
			end, error2, ok := law.Evidence(v)
			require.True(t, ok)
			dof = n - 1
			ends := 4 * (square - sum*sum/n) / dof * (1 + 1/n) * dof / (dof - 2)
			assert.InDelta(t, 1/variance, 1/error2+1/ends, 1e-9)
			assert.InDelta(t, mean/variance, end/error2+(7+2*sum/n)/ends, 1e-8)
		}
		assert.Equal(t, law, p.Law(step, to, own), "the sums that are kept change nothing")
	}
}

// Whatever the units of a task and of the past's tasks, the law says the same.
func TestLawUnits(t *testing.T) {
	r := testutil.RNG(t)
	a, b, own := draw(r, 12, 6, 0, 1), draw(r, 15, 6, 0, 1), draw(r, 7, 6, 0, 1)
	in := func(cs []Curve, shift, unit float64) []Curve {
		out := make([]Curve, len(cs))
		for i, c := range cs {
			out[i] = Curve{Steps: c.Steps, End: shift + unit*c.End}
			for _, v := range c.Values {
				out[i].Values = append(out[i].Values, shift+unit*v)
			}
		}
		return out
	}
	task := func(cs []Curve) Evaluations { return Evaluations{ends(cs), cs} }
	p := Learn([]Evaluations{task(a), task(b)})
	q := Learn([]Evaluations{task(in(a, 40, 0.01)), task(in(b, -3, 500))})
	m1, v1 := p.Law(4, p.Scale(0, 1, scaling.Low{}), own).End(0.5)
	m2, v2 := q.Law(4, q.Scale(9, 30, scaling.Low{}), in(own, 9, 30)).End(9 + 30*0.5)
	assert.InDelta(t, 9+30*m1, m2, 1e-9)
	assert.InDelta(t, 900*v1, v2, 1e-8)
}

// It takes five curves to know anything, values below the floor count as it, and values that
// are all equal, or say little, give no evidence.
func TestLawIsCautious(t *testing.T) {
	r := testutil.RNG(t)
	own := draw(r, 12, 6, 0, 1)
	to := Scale{Shift: 0, Unit: 1, Floor: -4}
	var none *Past
	assert.False(t, none.Law(3, to, own[:4]).Known())
	assert.True(t, none.Law(3, to, own[:5]).Known())
	assert.False(t, none.Law(7, to, own).Known(), "a step that no curve has")
	l := none.Law(3, to, own)
	m1, v1 := l.End(-4)
	m2, v2 := l.End(-1e100)
	assert.Equal(t, []float64{m1, v1}, []float64{m2, v2})

	for i := range own {
		own[i].Values = []float64{0.3, 0.3, 0.3, 0.3, 0.3, r.NormFloat64()}
	}
	for _, step := range []int{3, 6} {
		l = none.Law(step, to, own)
		require.True(t, l.Known())
		_, _, ok := l.Evidence(0.3)
		assert.False(t, ok)
	}
	l = none.Law(3, to, own)
	m, v := l.End(0.7)
	assert.InDelta(t, l.y, m, 1e-12)
	assert.Greater(t, v, 0.0)

	for i := range own {
		own[i].End = 2
	}
	_, ok := Standardize(ends(own))
	assert.False(t, ok)
	_, ok = Standardize([]float64{0.7, math.Nextafter(0.7, 1)})
	assert.False(t, ok, "ends that are equal but for rounding")
	assert.Nil(t, Learn([]Evaluations{{ends(own), own}, {Ends: []float64{1, 2}}}))
	_, _, ok = none.Law(3, to, own).Evidence(0.3)
	assert.False(t, ok, "ends that are all equal")
}

// Where the values at a step lie, and how far apart, is no matter: the law of values that are all higher is the
// same, as far as their rounding leaves them, and so is that of values times a power of 2, to the last bit.
func TestLawOfShiftedValues(t *testing.T) {
	own := draw(testutil.RNG(t), 12, 6, 0, 1)
	to := Scale{Shift: 0, Unit: 1, Floor: math.Inf(-1)}
	var none *Past
	m1, v1 := none.Law(4, to, own).End(0.5)
	for _, times := range []float64{0x1p-30, 0x1p30} {
		scaled := make([]Curve, len(own))
		for i, c := range own {
			v, _ := c.At(4)
			scaled[i] = Curve{Steps: []int{4}, Values: []float64{v * times}, End: c.End}
		}
		m2, v2 := none.Law(4, to, scaled).End(0.5 * times)
		assert.Equal(t, []float64{m1, v1}, []float64{m2, v2}, times)
	}
	for _, by := range []float64{-1e3, 1e2, 1e4} {
		higher := make([]Curve, len(own))
		for i, c := range own {
			higher[i] = Curve{Steps: c.Steps, End: c.End}
			for _, v := range c.Values {
				higher[i].Values = append(higher[i].Values, v+by)
			}
		}
		m2, v2 := none.Law(4, to, higher).End(0.5 + by)
		// Sums of squares of by lose so many of their digits to their difference.
		tol := 100 * by * by * 0x1p-52
		assert.InDelta(t, m1, m2, tol)
		assert.InDelta(t, v1, v2, tol)
	}
}

// What takes less than half of the variance of all ends off says less than they do.
func TestEvidenceThatSaysLittle(t *testing.T) {
	for _, c := range []struct {
		residual float64
		ok       bool
	}{{0.5, false}, {0.49, true}} {
		l := Law{to: Scale{Shift: 0, Unit: 1, Floor: math.Inf(-1)}, n: 100, svv: math.Inf(1), residual: c.residual, ends: 1}
		_, variance := l.End(0)
		_, noise, ok := l.Evidence(0)
		assert.Equal(t, c.ok, ok)
		if ok {
			assert.InDelta(t, variance/(1-variance), noise, 1e-12)
			assert.Less(t, noise, 1.0)
		}
	}
}

// The scale of a task is that of its values with low ones brought nearer.
func TestStandardize(t *testing.T) {
	y := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, -1e18}
	s, ok := Standardize(y)
	require.True(t, ok)
	assert.Greater(t, s.Floor, -20.0)
	var sum, squares float64
	for _, v := range y {
		z := s.To(v)
		sum += z
		squares += z * z
	}
	assert.InDelta(t, 0, sum/10, 1)
	assert.InDelta(t, 1, squares/10, 1)
	for _, v := range []float64{3, 8, -2} {
		back, _ := s.raw(s.back(s.To(v)), 0)
		assert.InDelta(t, v, back, 1e-12)
	}
	assert.Equal(t, (s.Floor-s.Shift)/s.Unit, s.To(-1e18))
}

// A value that is the end is a measurement of it, and one of equal ends is none.
func TestEvidenceOfTheEnd(t *testing.T) {
	for _, unit := range []float64{0, 3} {
		var own []Curve
		for i := range 8 {
			y := 0.1 + unit*float64(i*i%7)
			own = append(own, Curve{[]int{1}, []float64{y}, y})
		}
		var none *Past
		end, noise, ok := none.Law(1, Scale{Shift: 1, Unit: 2, Floor: math.Inf(-1)}, own).Evidence(5)
		assert.Equal(t, unit > 0, ok)
		if ok {
			assert.InDelta(t, 5, end, 1e-3)
			assert.Less(t, noise, 1e-4)
		}
	}
}

// Values that are all equal, or but for rounding, leave the mean of the ends with their variance,
// whatever the value is.
func TestLawOfEqualValues(t *testing.T) {
	r := testutil.RNG(t)
	for _, level := range []float64{0, 1, 1e3} {
		var own []Curve
		var mean, squares float64
		const n = 12
		for i := range n {
			y := r.NormFloat64()
			own = append(own, Curve{[]int{1}, []float64{level * (1 + float64(i%3)*0x1p-52)}, y})
			mean, squares = mean+y/n, squares+y*y
		}
		var none *Past
		l := none.Law(1, Scale{Shift: 0, Unit: 1, Floor: math.Inf(-1)}, own)
		for _, v := range []float64{level, level + 1, -7} {
			m, variance := l.End(v)
			assert.InDelta(t, mean, m, 1e-12)
			assert.InDelta(t, (squares-n*mean*mean)/(n-4)*(1+1./n), variance, 1e-10)
		}
	}
}

// The range of values at a step begins at the floor of the scale, or at its own end where that is
// lower, which is eight deviations above the mean.
func TestRange(t *testing.T) {
	own := []Curve{}
	for _, v := range []float64{1, 2, 4, 5, 8} {
		own = append(own, Curve{[]int{1}, []float64{v}, v * v})
	}
	var none *Past
	for floor, want := range map[float64]float64{-3: -3, 100: 4 + 8*math.Sqrt(6)} {
		// Values count as the floor below it, so the law is that of a lower one.
		l := none.Law(1, Scale{Shift: 3, Unit: 2, Floor: -3}, own)
		l.to.Floor = floor
		low, high := l.Range()
		assert.InDelta(t, 4+8*math.Sqrt(6), high, 1e-12)
		assert.InDelta(t, want, low, 1e-12)
	}
}

// What several past tasks say is learned once, of those that have curves and a scale, and the last
// step and the lowest floor are those of all of them.
func TestPast(t *testing.T) {
	var none *Past
	assert.Zero(t, none.Last())
	assert.Nil(t, Learn(nil))
	curves := func(last int, ends ...float64) (e Evaluations) {
		for _, y := range ends {
			e.Ends = append(e.Ends, y)
			e.Curves = append(e.Curves, Curve{[]int{1, last}, []float64{y - 1, y}, y})
		}
		return e
	}
	tasks := []Evaluations{curves(4, 1, 2, 3), curves(9, 0, 0, 5, 6), curves(7, 2, 2.5), {Ends: []float64{1, 50}}, curves(12, 3, 3)}
	p := Learn(tasks)
	assert.Len(t, p.tasks, 3)
	assert.Equal(t, 9, p.Last())
	var floor float64
	for _, e := range tasks[:3] {
		s, ok := Standardize(e.Ends)
		require.True(t, ok)
		floor = min(floor, (s.Floor-s.Shift)/s.Unit)
	}
	assert.Less(t, floor, -0.5)
	assert.Equal(t, Scale{Shift: 10, Unit: 3, Floor: 10 + 3*floor}, p.Scale(10, 3, scaling.Low{}))
}

// Up to ten curves of the past count as curves of the run do, each as one, and more of them
// together as ten.
func TestLawOfFewPastCurves(t *testing.T) {
	r := testutil.RNG(t)
	for _, n := range []int{5, 9, 10, 11, 40} {
		past, own := draw(r, n, 6, 3, 2), draw(r, 4, 6, 3, 2)
		s, ok := Standardize(ends(past))
		require.True(t, ok)
		p := Learn([]Evaluations{{ends(past), past}})
		to := p.Scale(s.Shift, s.Unit, s.Low)
		var none *Past
		got, same := p.Law(4, to, own), none.Law(4, to, append(past, own...))
		assert.InDelta(t, min(n, 10)+4, got.n, 1e-12)
		m1, v1 := got.End(2)
		m2, v2 := same.End(2)
		if n <= 10 {
			assert.InDelta(t, m2, m1, 1e-12)
			assert.InDelta(t, v2, v1, 1e-12)
		} else {
			assert.Greater(t, math.Abs(m2-m1), 1e-6)
		}
	}
}

// What a past keeps of one step is not what it says of another one, whoever asks first and
// who else asks meanwhile.
func TestLawsOfSteps(t *testing.T) {
	r := testutil.RNG(t)
	past := draw(r, 30, 6, 0, 1)
	tasks := []Evaluations{{ends(past), past}}
	want := make([]Law, 7)
	for step := range want {
		p := Learn(tasks)
		want[step] = p.Law(step, p.Scale(0, 1, scaling.Low{}), nil)
	}
	assert.False(t, want[0].Known())
	p := Learn(tasks)
	var wait sync.WaitGroup
	for k := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range want {
				step := (i*(2*k+1) + k) % len(want)
				assert.Equal(t, want[step], p.Law(step, p.Scale(0, 1, scaling.Low{}), nil))
			}
		}()
	}
	wait.Wait()
	kept := len(p.laws)
	for step := range 100 {
		p.Law(1000+step, p.Scale(0, 1, scaling.Low{}), nil)
	}
	require.Len(t, p.laws, kept, "steps that no curve of the past has")
	for i := range past {
		past[i].Steps = []int{10, 20, 30, 40, 50, 60}
	}
	apart := Learn(tasks)
	for range 2 {
		for step := range 70 {
			l := apart.Law(step, apart.Scale(0, 1, scaling.Low{}), nil)
			require.Equal(t, step >= 10 && step <= 60, l.Known(), step)
			if step%10 == 0 {
				require.Equal(t, want[step/10], l)
			}
		}
	}
	require.Len(t, apart.laws, 6, "steps between those that a curve of the past reports")
}
