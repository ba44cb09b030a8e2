"""Linear algebra in numpy and scipy. The numpy forms are the fastest known: LAPACK
wrappers called directly on Fortran-ordered arrays that are reused."""
import ctypes
import os
import shutil
import subprocess
import tempfile
import time

import numpy as np
import scipy.linalg as sl
from scipy.linalg import blas, lapack

from registry import F, Task, form, sample, sym_lower


@form("gemm", "numpy dgemm")
def _(p):
    a, b = F(p["a"]), F(p["b"])
    c = np.zeros_like(a, order="F")

    def run():
        blas.dgemm(1.0, a, b, 0.0, c, overwrite_c=1)
    return Task(run, lambda: sample(c))


@form("gemm", "numpy matmul")
def _(p):
    a, b = p["a"], p["b"]
    c = np.zeros_like(a)
    return Task(lambda: np.matmul(a, b, out=c), lambda: sample(c))


PEAK = r"""
#include <immintrin.h>
#if defined(__AVX512F__)
typedef __m512d V;
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define SET _mm512_set1_pd
#define LANES 8
#elif defined(__FMA__)
typedef __m256d V;
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define SET _mm256_set1_pd
#define LANES 4
#endif
#define N 12
double peak(long n) {
	V x = SET(0.999999), y = SET(1e-9), s[N];
	for (int i = 0; i < N; i++) s[i] = SET(i);
	for (long k = 0; k < n; k++)
#pragma GCC unroll 12
		for (int i = 0; i < N; i++) s[i] = FMA(s[i], x, y);
	for (int i = 1; i < N; i++) s[0] += s[i];
	return s[0][0];
}
double lanes(void) { return 2.0 * LANES * N; }
"""
peak_lib = []


@form("gemm", "peak FMA")
def _(p):
    """The time n^3 multiplications and additions take at the rate of a loop that
    does nothing but fused multiply-adds in registers. Needs gcc."""
    if not peak_lib:
        if not shutil.which("gcc"):
            raise RuntimeError("no gcc")
        folder = tempfile.mkdtemp()
        try:
            src, so = os.path.join(folder, "peak.c"), os.path.join(folder, "peak.so")
            with open(src, "w") as f:
                f.write(PEAK)
            subprocess.check_call(["gcc", "-O2", "-march=native", "-shared", "-fPIC", "-o", so, src])
            lib = ctypes.CDLL(so)
        finally:
            shutil.rmtree(folder)
        lib.peak.restype = lib.lanes.restype = ctypes.c_double
        lib.peak.argtypes = [ctypes.c_long]
        peak_lib.append(lib)
    lib = peak_lib[0]
    n, steps = p["a"].shape[0], 200000

    def clock(reps):
        best = []
        for _ in range(5):
            t = time.perf_counter()
            lib.peak(steps)
            best.append(time.perf_counter() - t)
        best.sort()
        return 2.0 * n**3 / (steps * lib.lanes() / best[2])
    return Task(lambda: clock(1), lambda: [], clock=clock)


@form("cholesky", "numpy dpotrf")
def _(p):
    s = F(p["s"])
    w = np.empty_like(s, order="F")

    def run():
        w[:] = s
        lapack.dpotrf(w, lower=1, clean=0, overwrite_a=1)
    return Task(run, lambda: sample(np.tril(w)))


@form("inverse", "numpy dpotri")
def _(p):
    s = F(p["s"])
    w = np.empty_like(s, order="F")

    def run():
        w[:] = s
        lapack.dpotrf(w, lower=1, clean=0, overwrite_a=1)
        lapack.dpotri(w, lower=1, overwrite_c=1)
    # One triangle only: the other is not filled, in this form's favour.
    return Task(run, lambda: sample(sym_lower(w)))


@form("solve", "numpy dpotrs")
def _(p):
    l, b = lapack.dpotrf(F(p["s"]), lower=1, clean=1)[0], F(p["b"])
    w = np.empty_like(b, order="F")

    def run():
        w[:] = b
        lapack.dpotrs(l, w, lower=1, overwrite_b=1)
    return Task(run, lambda: sample(w))


@form("solve", "numpy dtrsm")
def _(p):
    l, b = lapack.dpotrf(F(p["s"]), lower=1, clean=1)[0], F(p["b"])
    w = np.empty_like(b, order="F")

    def run():
        w[:] = b
        blas.dtrsm(1.0, l, w, lower=1, overwrite_b=1)
        blas.dtrsm(1.0, l, w, lower=1, trans_a=1, overwrite_b=1)
    return Task(run, lambda: sample(w))


@form("solvevec", "numpy dpotrs")
def _(p):
    l, b = lapack.dpotrf(F(p["s"]), lower=1, clean=1)[0], p["v"]
    x = [None]

    def run():
        x[0], _ = lapack.dpotrs(l, b, lower=1)
    return Task(run, lambda: sample(x[0]))


@form("solvevec", "numpy dtrsv")
def _(p):
    l, b = lapack.dpotrf(F(p["s"]), lower=1, clean=1)[0], p["v"]
    x = [None]

    def run():
        x[0] = blas.dtrsv(l, blas.dtrsv(l, b, lower=1), lower=1, trans=1, overwrite_x=1)
    return Task(run, lambda: sample(x[0]))


def eigen(driver, vectors):
    """The LAPACK routine itself, on a copy."""
    def make(p):
        s = F(p["s"])
        w = np.empty_like(s, order="F")
        out = [None, None]
        if driver == "evd":
            def run():
                w[:] = s
                out[0], out[1], info = lapack.dsyevd(w, compute_v=vectors, lower=1, overwrite_a=1)
        else:
            def run():
                r = sl.eigh(s, eigvals_only=not vectors, driver=driver, check_finite=False)
                out[0], out[1] = r if vectors else (r, None)

        def answer():
            if not vectors:
                return sample(out[0])
            return sample((out[1] * out[0]) @ out[1].T, out[0])
        return Task(run, answer)
    return make


form("eigvals", "numpy dsyevd")(eigen("evd", 0))
form("eigvals", "numpy dsyevr")(eigen("evr", 0))
form("eigh", "numpy dsyevd")(eigen("evd", 1))
form("eigh", "numpy dsyevr")(eigen("evr", 1))


def eigh(s):
    w, v, info = lapack.dsyevd(s, compute_v=1, lower=1)
    return w, v


def eigvals(s):
    return lapack.dsyevd(s, compute_v=0, lower=1, overwrite_a=1)[0]


def sqrt_eigh(s):
    w, v = eigh(s)
    x = v * np.sqrt(np.sqrt(np.maximum(w, 0)))
    return blas.dgemm(1.0, x, x, trans_b=1)


@form("sqrt", "numpy eigh")
def _(p):
    s, out = F(p["s"]), [None]

    def run():
        out[0] = sqrt_eigh(s)
    return Task(run, lambda: sample(out[0]))


@form("sqrt", "numpy eigh, one triangle")
def _(p):
    s, out = F(p["s"]), [None]

    def run():
        w, v = eigh(s)
        out[0] = blas.dsyrk(1.0, v * np.sqrt(np.sqrt(np.maximum(w, 0))), lower=1)
    return Task(run, lambda: sample(sym_lower(out[0])))


@form("sqrt", "numpy textbook: sqrtm")
def _(p):
    s, out = p["s"], [None]

    def run():
        out[0] = sl.sqrtm(s).real
    return Task(run, lambda: sample(out[0]))
