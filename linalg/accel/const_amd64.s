// Constants of the kernels of both tiers.

//go:build amd64 && gc && !purego && !noasm

#include "textflag.h"

// 1.
DATA ·one+0(SB)/8, $0x3ff0000000000000
GLOBL ·one(SB), RODATA|NOPTR, $8

// 1e6: f64.FarSquare.
DATA ·farSquare+0(SB)/8, $0x412e848000000000
GLOBL ·farSquare(SB), RODATA|NOPTR, $8

// All bits but the sign.
DATA ·magnitude+0(SB)/8, $0x7fffffffffffffff
GLOBL ·magnitude(SB), RODATA|NOPTR, $8

// The upper two bits of the exponent: both are zero below 2^-511 in magnitude.
DATA ·exponentTop+0(SB)/8, $0x6000000000000000
GLOBL ·exponentTop(SB), RODATA|NOPTR, $8

// 0 to 7: indices of the lanes.
DATA ·index+0(SB)/8, $0
DATA ·index+8(SB)/8, $1
DATA ·index+16(SB)/8, $2
DATA ·index+24(SB)/8, $3
DATA ·index+32(SB)/8, $4
DATA ·index+40(SB)/8, $5
DATA ·index+48(SB)/8, $6
DATA ·index+56(SB)/8, $7
GLOBL ·index(SB), RODATA|NOPTR, $64

// Four lanes on, four lanes off: a mask of n lanes begins 8n bytes before the
// middle.
DATA ·lanes+0(SB)/8, $0xffffffffffffffff
DATA ·lanes+8(SB)/8, $0xffffffffffffffff
DATA ·lanes+16(SB)/8, $0xffffffffffffffff
DATA ·lanes+24(SB)/8, $0xffffffffffffffff
DATA ·lanes+32(SB)/8, $0
DATA ·lanes+40(SB)/8, $0
DATA ·lanes+48(SB)/8, $0
DATA ·lanes+56(SB)/8, $0
GLOBL ·lanes(SB), RODATA|NOPTR, $64

// The exponential's.
DATA ·expTable+0(SB)/8, $0xc087c00000000000 // lower bound
DATA ·expTable+8(SB)/8, $0x4086800000000000 // upper bound
DATA ·expTable+16(SB)/8, $0x3ff71547652b82fe // 1/ln 2
DATA ·expTable+24(SB)/8, $0x3fe62e42fee00000 // ln 2, 32 bits
DATA ·expTable+32(SB)/8, $0x3dea39ef35793c76 // ln 2, the rest
DATA ·expTable+40(SB)/8, $0x43380000000003ff // 1.5·2^52 + 1023
DATA ·expTable+48(SB)/8, $0x3fe0000000000000 // 1/2
DATA ·expTable+56(SB)/8, $0x3de6124613a86d09 // 1/13!
DATA ·expTable+64(SB)/8, $0x3e21eed8eff8d898 // 1/12!
DATA ·expTable+72(SB)/8, $0x3e5ae64567f544e4 // 1/11!
DATA ·expTable+80(SB)/8, $0x3e927e4fb7789f5c // 1/10!
DATA ·expTable+88(SB)/8, $0x3ec71de3a556c734 // 1/9!
DATA ·expTable+96(SB)/8, $0x3efa01a01a01a01a // 1/8!
DATA ·expTable+104(SB)/8, $0x3f2a01a01a01a01a // 1/7!
DATA ·expTable+112(SB)/8, $0x3f56c16c16c16c17 // 1/6!
DATA ·expTable+120(SB)/8, $0x3f81111111111111 // 1/5!
DATA ·expTable+128(SB)/8, $0x3fa5555555555555 // 1/4!
DATA ·expTable+136(SB)/8, $0x3fc5555555555555 // 1/3!
DATA ·expTable+144(SB)/8, $0x3fe0000000000000 // 1/2!
DATA ·expTable+152(SB)/8, $0x3ff0000000000000 // 1/1!
DATA ·expTable+160(SB)/8, $0x3ff0000000000000 // 1/0!
GLOBL ·expTable(SB), RODATA|NOPTR, $168
