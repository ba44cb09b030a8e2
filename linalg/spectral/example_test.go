package spectral_test

import (
	"errors"
	"fmt"

	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

func ExampleEigenSym() {
	a := linalg.NewSym(2, []float64{2, 1, 1, 2})
	var e spectral.EigenSym
	if err := e.Factorize(a); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", e.Values())
	var inv linalg.Sym
	e.FuncTo(&inv, func(lambda float64) float64 { return 1 / lambda })
	fmt.Printf("%.3f\n", inv.Row(0))
	// Output:
	// [1.000 3.000]
	// [0.667 -0.333]
}

// The covariance part of the squared 2-Wasserstein distance between two normal
// distributions, tr A + tr B − 2·Σσ_i(L_Aᵀ·L_B).
func ExampleSVD_NuclearNorm() {
	a := linalg.NewSym(2, []float64{4, 0, 0, 9})
	b := linalg.NewSym(2, []float64{1, 0, 0, 1})
	var ca, cb linalg.Cholesky
	if err := errors.Join(ca.Factorize(a), cb.Factorize(b)); err != nil {
		fmt.Println(err)
		return
	}
	var c linalg.Dense
	linalg.TransMulLower(&c, ca.Lower(), cb.Lower())
	var s spectral.SVD
	fmt.Printf("%.6f\n", a.Trace()+b.Trace()-2*s.NuclearNorm(&c)) // (2−1)² + (3−1)²
	// Output: 5.000000
}

func ExampleRootPSD() {
	a := linalg.NewSym(2, []float64{1, 1, 1, 1}) // singular, and legal
	var r spectral.RootPSD
	var root linalg.Sym
	if err := r.SqrtTo(&root, a); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", root.Row(0))
	// Output: [0.7071 0.7071]
}
