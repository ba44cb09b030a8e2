//go:build amd64 && gc && !purego && !noasm

#include "textflag.h"

// Sixteen independent chains of multiply-adds hide the latency of one.

#define FMA8(a, b, c, d, e, f, g, h) \
	VFMADD231PD a, a, a \
	VFMADD231PD b, b, b \
	VFMADD231PD c, c, c \
	VFMADD231PD d, d, d \
	VFMADD231PD e, e, e \
	VFMADD231PD f, f, f \
	VFMADD231PD g, g, g \
	VFMADD231PD h, h, h

// func run512(n int)
TEXT ·run512(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	VZEROALL
	VPXORQ Z16, Z16, Z16

loop:
	FMA8(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	FMA8(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET

// func run256(n int)
TEXT ·run256(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	VZEROALL

loop:
	FMA8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	FMA8(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET
