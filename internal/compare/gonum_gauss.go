package main

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Operations of the method on normal distributions, written with gonum's routines
// in the best forms known for them: factors and inverses kept, triangular products,
// values only.

// normal is a distribution with its factor, and its inverse where one is used.
type gonumNormal struct {
	mean     []float64
	cov, l   general
	trace    float64
	inverse  general
	quadWork []float64
}

func (in *inputs) gonumNormals() []*gonumNormal {
	s := in.shape("covs")
	k, n := s[0], s[1]
	means, covs := in.array("means"), in.array("covs")
	out := make([]*gonumNormal, k)
	for i := range out {
		p := &gonumNormal{mean: means[i*n : (i+1)*n], cov: newGeneral(n), l: newGeneral(n)}
		copy(p.cov.Data, covs[i*n*n:])
		p.factor()
		out[i] = p
	}
	return out
}

func (p *gonumNormal) factor() {
	copy(p.l.Data, p.cov.Data)
	potrf(p.l)
	p.trace = 0
	n := p.l.Rows
	for i := range n {
		clear(p.l.Data[i*n+i+1 : (i+1)*n])
		p.trace += p.cov.Data[i*n+i]
	}
}

// invert makes the inverse of the covariance with an amount on its diagonal.
func (p *gonumNormal) invert(jitter float64) {
	n := p.cov.Rows
	if p.inverse.Data == nil {
		p.inverse, p.quadWork = newGeneral(n), make([]float64, n)
	}
	copy(p.inverse.Data, p.cov.Data)
	for i := range n {
		p.inverse.Data[i*n+i] += jitter
	}
	potrf(p.inverse)
	lapack64.Potri(triangle(p.inverse))
	mirror(p.inverse, blas.Lower)
}

// gonumW2 computes squared W2 distances from factors, by the eigenvalues of
// (L1ᵀ·L0)·(L1ᵀ·L0)ᵀ or by singular values.
type gonumW2 struct {
	c, m      general
	e         *syev
	svd       bool
	sv, work  []float64
	emptyL, r general
}

func newGonumW2(n int, svd bool) *gonumW2 {
	w := &gonumW2{c: newGeneral(n), m: newGeneral(n), e: newSyev(n, lapack.EVNone), svd: svd, sv: make([]float64, n)}
	w.emptyL, w.r = general{Stride: 1}, general{Stride: 1}
	if svd {
		q := make([]float64, 1)
		lapack64.Gesvd(lapack.SVDNone, lapack.SVDNone, w.c, w.emptyL, w.r, w.sv, q, -1)
		w.work = make([]float64, int(q[0]))
	}
	return w
}

func (w *gonumW2) squared(p, q *gonumNormal) float64 {
	copy(w.c.Data, q.l.Data)
	blas64.Trmm(blas.Left, blas.Trans, 1, triangle(p.l), w.c)
	var f float64
	if w.svd {
		if !lapack64.Gesvd(lapack.SVDNone, lapack.SVDNone, w.c, w.emptyL, w.r, w.sv, w.work, len(w.work)) {
			panic("no convergence")
		}
		for _, s := range w.sv {
			f += s
		}
	} else {
		blas64.Syrk(blas.NoTrans, 1, w.c, 0, upper(w.m))
		w.e.run(lapack.EVNone, upper(w.m))
		for _, l := range w.e.w {
			f += math.Sqrt(max(l, 0))
		}
	}
	return sqDist(p.mean, q.mean) + p.trace + q.trace - 2*f
}

func sqDist(a, b []float64) (s float64) {
	for i, v := range a {
		s += (v - b[i]) * (v - b[i])
	}
	return s
}

func init() {
	for _, svd := range []bool{false, true} {
		name := map[bool]string{false: "gonum eigenvalues", true: "gonum singular values"}[svd]
		register("w2", name, func(in *inputs) *task {
			ps := in.gonumNormals()
			w := newGonumW2(ps[0].l.Rows, svd)
			var d float64
			return &task{run: func() { d = w.squared(ps[0], ps[1]) }, answer: func() []float64 { return []float64{d} }}
		})
		register("online-w2", name, func(in *inputs) *task {
			ps := in.gonumNormals()
			last := ps[len(ps)-1]
			d := make([]float64, len(ps)-1)
			w := newGonumW2(last.l.Rows, svd)
			return &task{
				run: func() {
					last.factor()
					for i := range d {
						d[i] = w.squared(last, ps[i])
					}
				},
				answer: func() []float64 { return d }, per: float64(len(d)),
			}
		})
		register("cluster", name, func(in *inputs) *task {
			ps, c := in.gonumNormals(), int(in.Params["clusters"])
			n := ps[0].l.Rows
			w := newGonumW2(n, svd)
			d := make([]float64, c*len(ps))
			centre := &gonumNormal{mean: make([]float64, n), cov: newGeneral(n), l: newGeneral(n)}
			return &task{
				run: func() {
					for i := range c {
						clear(centre.mean)
						clear(centre.cov.Data)
						share := float64(c) / float64(len(ps))
						for j := i; j < len(ps); j += c {
							axpy(share, ps[j].mean, centre.mean)
							axpy(share, ps[j].cov.Data, centre.cov.Data)
						}
						centre.factor()
						for j, p := range ps {
							d[i*len(ps)+j] = w.squared(centre, p)
						}
					}
				},
				answer: func() []float64 { return sample(d) },
			}
		})
	}
	register("online-jeffreys", "gonum inverses kept", func(in *inputs) *task {
		ps := in.gonumNormals()
		jitter := in.Params["jitter"]
		for _, p := range ps {
			p.invert(jitter)
		}
		last := ps[len(ps)-1]
		d := make([]float64, len(ps)-1)
		return &task{
			run: func() {
				last.invert(jitter)
				for i := range d {
					d[i] = gonumJeffreys(last, ps[i], jitter)
				}
			},
			answer: func() []float64 { return d }, per: float64(len(d)),
		}
	})
	register("posterior", "gonum by hand", func(in *inputs) *task {
		x, z, y := in.general("x"), in.general("z"), in.array("y")
		inv, noise := math.Sqrt(3)/in.Params["length"], in.Params["noise"]
		n, m := x.Rows, z.Rows
		l, alpha := newGeneral(n), append([]float64(nil), y...)
		fillMatern(l, x, x, inv)
		for i := range n {
			l.Data[i*n+i] += noise
		}
		potrf(l)
		blas64.Trsv(blas.NoTrans, triangle(l), blas64.Vector{N: n, Inc: 1, Data: alpha})
		v, cov := general{Rows: n, Cols: m, Stride: m, Data: make([]float64, n*m)}, newGeneral(m)
		mean := make([]float64, m)
		return &task{
			run: func() {
				fillMatern(v, x, z, inv)
				blas64.Trsm(blas.Left, blas.NoTrans, 1, triangle(l), v)
				blas64.Gemv(blas.Trans, 1, v, blas64.Vector{N: n, Inc: 1, Data: alpha}, 0, blas64.Vector{N: m, Inc: 1, Data: mean})
				fillMaternUpper(cov, z, inv)
				blas64.Syrk(blas.Trans, -1, v, 1, upper(cov))
				mirror(cov, blas.Upper)
			},
			answer: func() []float64 { return sample(mean, cov.Data) },
		}
	})
}

func axpy(a float64, x, y []float64) {
	blas64.Axpy(a, blas64.Vector{N: len(x), Inc: 1, Data: x}, blas64.Vector{N: len(y), Inc: 1, Data: y})
}

// gonumJeffreys is ½⟨Q−P, S−T⟩ + ½·dmᵀ(P+Q)dm with inverses kept; one triangle is
// enough for the inner product.
func gonumJeffreys(p, q *gonumNormal, _ float64) float64 {
	n := len(p.mean)
	var s float64
	for i := range n {
		pr, qr := p.inverse.Data[i*n:][:n], q.inverse.Data[i*n:][:n]
		sr, tr := p.cov.Data[i*n:][:n], q.cov.Data[i*n:][:n]
		di := p.mean[i] - q.mean[i]
		var inner, quad float64
		for j := range i {
			inner += (qr[j] - pr[j]) * (sr[j] - tr[j])
			quad += (pr[j] + qr[j]) * (p.mean[j] - q.mean[j])
		}
		s += 2*inner + (qr[i]-pr[i])*(sr[i]-tr[i]) + di*(2*quad+(pr[i]+qr[i])*di)
	}
	return s / 2
}

// fillMatern sets c to the Matérn-3/2 covariances of the rows of x and z; inv is
// √3 over the length.
func fillMatern(c, x, z general, inv float64) {
	for i := range x.Rows {
		for j := range z.Rows {
			c.Data[i*c.Stride+j] = matern(x, i, z, j, inv)
		}
	}
}

func fillMaternUpper(c, z general, inv float64) {
	for i := range z.Rows {
		for j := i; j < z.Rows; j++ {
			c.Data[i*c.Stride+j] = matern(z, i, z, j, inv)
		}
	}
}

func matern(x general, i int, z general, j int, inv float64) float64 {
	r := inv * math.Sqrt(sqDist(x.Data[i*x.Stride:][:x.Cols], z.Data[j*z.Stride:][:z.Cols]))
	return (1 + r) * math.Exp(-r)
}
