package optim

import "math"

// problem is a test function with a known solution in a box.
type problem struct {
	name     string
	f        Func
	x0       []float64
	lo, hi   []float64
	want     []float64
	tol      float64 // on X, absolute
	maxEvals int     // what the search may spend: a regression guard
}

// counted is f that counts its evaluations in n.
func counted(f Func, n *int) Func {
	return func(x, g []float64) float64 { *n++; return f(x, g) }
}

func rosenbrock(x, g []float64) float64 {
	clear(g)
	var f float64
	for i := range len(x) - 1 {
		a, b := 1-x[i], x[i+1]-x[i]*x[i]
		f += a*a + 100*b*b
		g[i] += -2*a - 400*x[i]*b
		g[i+1] += 200 * b
	}
	return f
}

// branin is the Branin–Hoo function on [−5, 10]×[0, 15]: three minima of value
// 0.397887.
func branin(x, g []float64) float64 {
	const a, b, c, r, s, t = 1, 5.1 / (4 * math.Pi * math.Pi), 5 / math.Pi, 6, 10, 1 / (8 * math.Pi)
	q := x[1] - b*x[0]*x[0] + c*x[0] - r
	g[0] = 2*a*q*(-2*b*x[0]+c) - s*(1-t)*math.Sin(x[0])
	g[1] = 2 * a * q
	return a*q*q + s*(1-t)*math.Cos(x[0]) + s
}

func beale(x, g []float64) float64 {
	clear(g)
	var f float64
	for i, c := range []float64{1.5, 2.25, 2.625} {
		p := math.Pow(x[1], float64(i+1))
		r := c - x[0] + x[0]*p
		f += r * r
		g[0] += 2 * r * (p - 1)
		g[1] += 2 * r * x[0] * float64(i+1) * math.Pow(x[1], float64(i))
	}
	return f
}

// powell is the singular function of M. J. D. Powell: the Hessian at the solution
// has rank 2.
func powell(x, g []float64) float64 {
	a, b, c, d := x[0]+10*x[1], x[2]-x[3], x[1]-2*x[2], x[0]-x[3]
	g[0] = 2*a + 40*d*d*d
	g[1] = 20*a + 4*c*c*c
	g[2] = 10*b - 8*c*c*c
	g[3] = -10*b - 40*d*d*d
	return a*a + 5*b*b + c*c*c*c + 10*d*d*d*d
}

func fill(n int, v float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// none is no bounds of n variables, on the side of the sign.
func none(n, sign int) []float64 { return fill(n, math.Inf(sign)) }

func problems() []problem {
	return []problem{
		{"Rosenbrock", rosenbrock, []float64{-1.2, 1}, none(2, -1), none(2, 1), []float64{1, 1}, 1e-4, 50},
		{"Rosenbrock in a box that holds the solution", rosenbrock, []float64{-1.2, 1}, fill(2, -2), fill(2, 2), []float64{1, 1}, 1e-4, 50},
		{"Rosenbrock, upper bound active", rosenbrock, []float64{-1.2, 1}, fill(2, -2), []float64{0.5, 2}, []float64{0.5, 0.25}, 1e-5, 35},
		{"Rosenbrock, lower bound active", rosenbrock, []float64{2, 3}, []float64{1.5, -10}, fill(2, 10), []float64{1.5, 2.25}, 1e-5, 32},
		{"Rosenbrock, both variables at bounds", rosenbrock, []float64{0, 0}, fill(2, -2), []float64{0.5, 0.1}, []float64{math.NaN(), 0.1}, 1e-5, 18},
		{"Rosenbrock in 10 dimensions", rosenbrock, fill(10, -0.5), none(10, -1), none(10, 1), fill(10, 1), 1e-3, 95},
		{"Rosenbrock in 10 dimensions, bounded", rosenbrock, fill(10, 3), fill(10, -5), append(fill(9, 5), 0.9), nil, 0, 38},
		{"Branin", branin, []float64{8, 4}, []float64{-5, 0}, []float64{10, 15}, []float64{9.42478, 2.475}, 1e-4, 14},
		{"Branin, solution on an edge", branin, []float64{8, 4}, []float64{-5, 3}, []float64{10, 15}, nil, 0, 12},
		{"Beale", beale, []float64{1, 1}, fill(2, -4.5), fill(2, 4.5), []float64{3, 0.5}, 1e-4, 20},
		{"Powell singular", powell, []float64{3, -1, 0, 1}, none(4, -1), none(4, 1), fill(4, 0), 2e-2, 46},
		{"linear into a corner", func(x, g []float64) float64 {
			g[0], g[1], g[2] = 1, -2, 3
			return x[0] - 2*x[1] + 3*x[2]
		}, fill(3, 0.5), fill(3, 0), fill(3, 1), []float64{0, 1, 0}, 0, 10},
		{"fixed variables", rosenbrock, []float64{0.3, 0, 0.2}, []float64{0.3, -9, 0.2}, []float64{0.3, 9, 0.2}, nil, 0, 12},
		{"start outside", rosenbrock, []float64{-100, 100}, fill(2, -2), fill(2, 2), []float64{1, 1}, 1e-4, 58},
		{"start at the solution", rosenbrock, []float64{1, 1}, none(2, -1), none(2, 1), []float64{1, 1}, 0, 1},
		{"badly scaled", func(x, g []float64) float64 {
			g[0], g[1] = 2e4*(x[0]-x[1]), 2e4*(x[1]-x[0])+2e-2*(x[1]-3)
			return 1e4*(x[0]-x[1])*(x[0]-x[1]) + 1e-2*(x[1]-3)*(x[1]-3)
		}, []float64{1, -1}, none(2, -1), none(2, 1), []float64{3, 3}, 1e-2, 30},
	}
}

// minimize searches with a Minimizer that nothing else uses.
func minimize(f Func, x0, lo, hi []float64, o Options) Result {
	return new(Minimizer).Minimize(f, x0, lo, hi, o)
}
