package main

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Gonum's forms. "mat" is its matrix package as its documentation shows it, with
// receivers kept; "lapack64" goes one layer down, where no condition number is
// estimated and work arrays are the caller's.

type general = blas64.General

func (in *inputs) general(name string) general {
	s := in.shape(name)
	return general{Rows: s[0], Cols: s[1], Stride: s[1], Data: in.array(name)}
}

func newGeneral(n int) general {
	return general{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
}

func lower(g general) blas64.Symmetric {
	return blas64.Symmetric{N: g.Rows, Stride: g.Stride, Data: g.Data, Uplo: blas.Lower}
}

func upper(g general) blas64.Symmetric {
	return blas64.Symmetric{N: g.Rows, Stride: g.Stride, Data: g.Data, Uplo: blas.Upper}
}

func triangle(g general) blas64.Triangular {
	return blas64.Triangular{N: g.Rows, Stride: g.Stride, Data: g.Data, Uplo: blas.Lower, Diag: blas.NonUnit}
}

// mirror copies one triangle onto the other.
func mirror(g general, from blas.Uplo) {
	for i := range g.Rows {
		for j := range i {
			if from == blas.Lower {
				g.Data[j*g.Stride+i] = g.Data[i*g.Stride+j]
			} else {
				g.Data[i*g.Stride+j] = g.Data[j*g.Stride+i]
			}
		}
	}
}

// potrf factorises in place and clears the upper triangle of the answer.
func potrf(g general) {
	if _, ok := lapack64.Potrf(lower(g)); !ok {
		panic("not positive definite")
	}
}

func cleared(g general) []float64 {
	out := append([]float64(nil), g.Data...)
	for i := range g.Rows {
		clear(out[i*g.Stride+i+1 : (i+1)*g.Stride])
	}
	return out
}

func matSym(g general) *mat.SymDense { return mat.NewSymDense(g.Rows, g.Data) }

// syev is the eigenvalue routine with its work array.
type syev struct{ w, work []float64 }

func newSyev(n int, job lapack.EVJob) *syev {
	e := &syev{w: make([]float64, n)}
	q := make([]float64, 1)
	lapack64.Syev(job, blas64.Symmetric{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Upper}, e.w, q, -1)
	e.work = make([]float64, int(q[0]))
	return e
}

func (e *syev) run(job lapack.EVJob, a blas64.Symmetric) {
	if !lapack64.Syev(job, a, e.w, e.work, len(e.work)) {
		panic("no convergence")
	}
}

func init() {
	register("gemm", "gonum", func(in *inputs) *task {
		a, b, c := in.general("a"), in.general("b"), newGeneral(in.n())
		return &task{
			run:    func() { blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, c) },
			answer: func() []float64 { return sample(c.Data) },
		}
	})
	register("cholesky", "gonum mat", func(in *inputs) *task {
		s := matSym(in.general("s"))
		var c mat.Cholesky
		return &task{
			run: func() {
				if !c.Factorize(s) {
					panic("not positive definite")
				}
			},
			answer: func() []float64 {
				var l mat.TriDense
				c.LTo(&l)
				return sample(mat.DenseCopyOf(&l).RawMatrix().Data)
			},
		}
	})
	register("cholesky", "gonum lapack64", func(in *inputs) *task {
		s, w := in.general("s"), newGeneral(in.n())
		return &task{run: func() { copy(w.Data, s.Data); potrf(w) }, answer: func() []float64 { return sample(cleared(w)) }}
	})
	register("inverse", "gonum mat", func(in *inputs) *task {
		s, inv := matSym(in.general("s")), mat.NewSymDense(in.n(), nil)
		var c mat.Cholesky
		return &task{
			run: func() {
				c.Factorize(s)
				must(c.InverseTo(inv))
			},
			answer: func() []float64 { return sample(mat.DenseCopyOf(inv).RawMatrix().Data) },
		}
	})
	register("inverse", "gonum lapack64", func(in *inputs) *task {
		s, w := in.general("s"), newGeneral(in.n())
		return &task{
			run: func() {
				copy(w.Data, s.Data)
				potrf(w)
				lapack64.Potri(triangle(w))
				mirror(w, blas.Lower)
			},
			answer: func() []float64 { return sample(w.Data) },
		}
	})
	register("solve", "gonum mat", func(in *inputs) *task {
		var c mat.Cholesky
		c.Factorize(matSym(in.general("s")))
		b := in.general("b")
		rhs, x := mat.NewDense(b.Rows, b.Cols, b.Data), mat.NewDense(b.Rows, b.Cols, nil)
		return &task{run: func() { must(c.SolveTo(x, rhs)) }, answer: func() []float64 { return sample(x.RawMatrix().Data) }}
	})
	register("solve", "gonum lapack64", func(in *inputs) *task {
		l, b, x := in.general("s"), in.general("b"), newGeneral(in.n())
		potrf(l)
		return &task{
			run:    func() { copy(x.Data, b.Data); lapack64.Potrs(triangle(l), x) },
			answer: func() []float64 { return sample(x.Data) },
		}
	})
	register("solvevec", "gonum mat", func(in *inputs) *task {
		var c mat.Cholesky
		c.Factorize(matSym(in.general("s")))
		b, x := mat.NewVecDense(in.n(), in.array("v")), mat.NewVecDense(in.n(), nil)
		return &task{run: func() { must(c.SolveVecTo(x, b)) }, answer: func() []float64 { return sample(x.RawVector().Data) }}
	})
	register("solvevec", "gonum blas64", func(in *inputs) *task {
		l, b, x := in.general("s"), in.array("v"), make([]float64, in.n())
		potrf(l)
		v := blas64.Vector{N: in.n(), Inc: 1, Data: x}
		return &task{
			run: func() {
				copy(x, b)
				blas64.Trsv(blas.NoTrans, triangle(l), v)
				blas64.Trsv(blas.Trans, triangle(l), v)
			},
			answer: func() []float64 { return sample(x) },
		}
	})
	for _, v := range []struct {
		kind string
		job  lapack.EVJob
	}{{"eigvals", lapack.EVNone}, {"eigh", lapack.EVCompute}} {
		vectors := v.job == lapack.EVCompute
		register(v.kind, "gonum mat", func(in *inputs) *task {
			s := matSym(in.general("s"))
			var e mat.EigenSym
			var m mat.Dense
			return &task{
				run: func() {
					if !e.Factorize(s, vectors) {
						panic("no convergence")
					}
					if vectors {
						e.VectorsTo(&m)
					}
				},
				answer: func() []float64 {
					if !vectors {
						return sample(e.Values(nil))
					}
					return sample(rebuild(m.RawMatrix().Data, e.Values(nil)))
				},
			}
		})
		register(v.kind, "gonum lapack64", func(in *inputs) *task {
			s, w, e := in.general("s"), newGeneral(in.n()), newSyev(in.n(), v.job)
			return &task{
				run: func() { copy(w.Data, s.Data); e.run(v.job, upper(w)) },
				answer: func() []float64 {
					if !vectors {
						return sample(e.w)
					}
					return sample(rebuild(w.Data, e.w))
				},
			}
		})
	}
	register("sqrt", "gonum lapack64", func(in *inputs) *task {
		s, w, r, e := in.general("s"), newGeneral(in.n()), newGeneral(in.n()), newSyev(in.n(), lapack.EVCompute)
		return &task{
			run: func() {
				copy(w.Data, s.Data)
				e.run(lapack.EVCompute, upper(w))
				scaleColumns(w, e.w)
				blas64.Syrk(blas.NoTrans, 1, w, 0, upper(r))
				mirror(r, blas.Upper)
			},
			answer: func() []float64 { return sample(r.Data) },
		}
	})
	register("sqrt", "gonum mat", func(in *inputs) *task {
		s, r := matSym(in.general("s")), mat.NewSymDense(in.n(), nil)
		return &task{
			run:    func() { must(r.PowPSD(s, 0.5)) },
			answer: func() []float64 { return sample(mat.DenseCopyOf(r).RawMatrix().Data) },
		}
	})
}

// scaleColumns multiplies column j by the fourth root of l_j.
func scaleColumns(v general, l []float64) {
	for j, e := range l {
		q := math.Sqrt(math.Sqrt(max(e, 0)))
		for i := range v.Rows {
			v.Data[i*v.Stride+j] *= q
		}
	}
}
