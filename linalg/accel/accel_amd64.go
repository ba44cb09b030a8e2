//go:build amd64 && gc && !purego && !noasm

package accel

import "github.com/gocmbo/cmbo/internal/f64"

func init() {
	if t := tiers(); len(t) > 0 {
		tier = t[0].name
		f64.Use(t[0])
	}
}

// tiers returns what the machine supports, the best first.
func tiers() []*kernels {
	switch avx2, avx512 := detect(); {
	case avx512:
		return []*kernels{&avx512Kernels, &avx2Kernels}
	case avx2:
		return []*kernels{&avx2Kernels}
	}
	return nil
}

var avx512Kernels = kernels{
	name: "avx512", lanes: 8, masked: 3,
	gemmPanel: gemmPanelAVX512, gemmNarrow: gemmPanelAVX2, gemmDots: gemmDotsAVX512, gemv: gemvAVX512,
	packT: packTAVX512, unpackT: unpackTAVX512,
	trsmPanel: trsmPanelAVX512, backPanel: backPanelAVX512, invertPanel: invertPanelAVX512, trsmRows: trsmRowsAVX512,
	trsmRow: trsmRowAVX512, cholPanel: cholPanelAVX512,
	symPass: symPassAVX512, bidiagPass: bidiagPassAVX512,
	dot: dotAVX512, axpy: axpyAVX512, poleSum: poleSumAVX512,
	radialValues: radialValuesAVX512, radialSlopes: radialSlopesAVX512,
	axpy4: axpy4AVX512, diffDots: diffDotsAVX512, scale: scaleAVX512, magnitude: magnitudeAVX512,
	transpose: transposeAVX512, addSquares: addSquaresAVX512, flushMul: flushMulAVX512, flushChain: flushChainAVX512,
}

var avx2Kernels = kernels{
	name: "avx2", lanes: 4, masked: 2,
	gemmPanel: gemmPanelAVX2, gemmNarrow: gemmPanelAVX2, gemmDots: gemmDotsAVX2, gemv: gemvAVX2,
	packT: packTAVX2, unpackT: unpackTAVX2,
	trsmPanel: trsmPanelAVX2, backPanel: backPanelAVX2, invertPanel: invertPanelAVX2, trsmRows: trsmRowsAVX2,
	trsmRow: trsmRowAVX2, cholPanel: cholPanelAVX2,
	symPass: symPassAVX2, bidiagPass: bidiagPassAVX2,
	dot: dotAVX2, axpy: axpyAVX2, poleSum: poleSumAVX2,
	radialValues: radialValuesAVX2, radialSlopes: radialSlopesAVX2,
	axpy4: axpy4AVX2, diffDots: diffDotsAVX2, scale: scaleAVX2, magnitude: magnitudeAVX2, transpose: transposeAVX2,
	addSquares: addSquaresAVX2, flushMul: flushMulAVX2, flushChain: flushChainAVX2,
}
