"""Normal distributions in numpy: textbook forms, and the best ones, which keep
factors and inverses and compute values only."""
import numpy as np
import scipy.linalg as sl
from scipy.linalg import blas, lapack

from forms_linalg import eigh, eigvals, sqrt_eigh
from registry import F, Task, form, sample, sym_lower


def chol(s):
    c, info = lapack.dpotrf(s, lower=1, clean=1)
    if info:
        raise ValueError("not positive definite")
    return c


def by_eigenvalues(l0, l1):
    """tr (S1^1/2 S0 S1^1/2)^1/2 from the eigenvalues of C C', C = L1' L0."""
    c = blas.dtrmm(1.0, l1, l0, lower=1, trans_a=1)
    return np.sqrt(np.maximum(eigvals(blas.dsyrk(1.0, c, lower=1)), 0)).sum()


def by_singular_values(l0, l1):
    c = blas.dtrmm(1.0, l1, l0, lower=1, trans_a=1)
    return lapack.dgesdd(c, compute_uv=0, overwrite_a=1)[1].sum()


FIDELITY = {"numpy eigenvalues": by_eigenvalues, "numpy singular values": by_singular_values}


def w2_textbook(m0, s0, m1, s1):
    r = sl.sqrtm(s1).real
    return ((m0 - m1) ** 2).sum() + np.trace(s0 + s1 - 2 * sl.sqrtm(r @ s0 @ r).real)


class Moments:
    def __init__(self, p):
        self.m = list(p["means"])
        self.s = [F(s) for s in p["covs"]]
        self.l = [chol(s) for s in self.s]
        self.t = [np.trace(s) for s in self.s]


def w2_form(name, fidelity):
    @form("w2", name)
    def _(p):
        q, d = Moments(p), [0.0]

        def run():
            dm = q.m[0] - q.m[1]
            d[0] = dm @ dm + q.t[0] + q.t[1] - 2 * fidelity(q.l[1], q.l[0])
        return Task(run, lambda: d)

    @form("online-w2", name)
    def _(p):
        q = Moments(p)
        c = len(q.m) - 1
        d = np.empty(c)

        def run():
            l, t = chol(q.s[c]), np.trace(q.s[c])
            for i in range(c):
                dm = q.m[c] - q.m[i]
                d[i] = dm @ dm + t + q.t[i] - 2 * fidelity(l, q.l[i])
        return Task(run, lambda: d, per=c)

    @form("cluster", name)
    def _(p):
        q, c = Moments(p), int(p.params["clusters"])
        k = len(q.m)
        d = np.empty((c, k))

        def run():
            for i in range(c):
                m, s = centre(q, i, c)
                l, t = chol(s), np.trace(s)
                for j in range(k):
                    dm = m - q.m[j]
                    d[i, j] = dm @ dm + t + q.t[j] - 2 * fidelity(q.l[j], l)
        return Task(run, lambda: sample(d))


def centre(q, i, c):
    g = range(i, len(q.m), c)
    return sum(q.m[j] for j in g) / len(g), F(sum(q.s[j] for j in g) / len(g))


for name_, fidelity_ in FIDELITY.items():
    w2_form(name_, fidelity_)


@form("w2", "numpy textbook: sqrtm")
def _(p):
    q, d = Moments(p), [0.0]

    def run():
        d[0] = w2_textbook(q.m[0], q.s[0], q.m[1], q.s[1])
    return Task(run, lambda: d)


@form("cluster", "numpy textbook: sqrtm")
def _(p):
    q, c = Moments(p), int(p.params["clusters"])
    d = np.empty((c, len(q.m)))

    def run():
        for i in range(c):
            m, s = centre(q, i, c)
            for j in range(len(q.m)):
                d[i, j] = w2_textbook(q.m[j], q.s[j], m, s)
    return Task(run, lambda: sample(d))


@form("cluster", "numpy eigh, root kept")
def _(p):
    q, c = Moments(p), int(p.params["clusters"])
    d = np.empty((c, len(q.m)))

    def run():
        for i in range(c):
            m, s = centre(q, i, c)
            r, t = sqrt_eigh(s), np.trace(s)
            for j in range(len(q.m)):
                dm = m - q.m[j]
                d[i, j] = dm @ dm + t + q.t[j] - 2 * np.sqrt(np.maximum(eigvals(r @ q.s[j] @ r), 0)).sum()
    return Task(run, lambda: sample(d))


@form("online-w2", "numpy textbook: sqrtm")
def _(p):
    q = Moments(p)
    c = len(q.m) - 1
    d = np.empty(c)

    def run():
        for i in range(c):
            d[i] = w2_textbook(q.m[c], q.s[c], q.m[i], q.s[i])
    return Task(run, lambda: d, per=c)


@form("online-jeffreys", "numpy inverses kept")
def _(p):
    q, jitter = Moments(p), p.params["jitter"]
    n, c = len(q.m[0]), len(q.m) - 1

    def inverse(s):
        s = s.copy(order="F")
        s[np.diag_indices(n)] += jitter
        i = lapack.dpotri(chol(s), lower=1, overwrite_c=1)[0]
        return i
    kept = [sym_lower(inverse(s)) for s in q.s[:c]]
    d = np.empty(c)

    def run():
        s = q.s[c]
        half = np.tril(inverse(s))
        # <P, S> with one triangle of P: twice the lower part less the diagonal.
        diag = np.diag(half)
        for i in range(c):
            dm = q.m[c] - q.m[i]
            diff = s - q.s[i]
            inner = np.vdot(kept[i], diff) - 2 * np.vdot(half, diff) + diag @ np.diag(diff)
            quad = dm @ (kept[i] @ dm) + 2 * dm @ (half @ dm) - diag @ (dm * dm)
            d[i] = 0.5 * (inner + quad)
    return Task(run, lambda: d, per=c)


@form("online-jeffreys", "numpy inverses kept, whole")
def _(p):
    q, jitter = Moments(p), p.params["jitter"]
    n, c = len(q.m[0]), len(q.m) - 1
    eye = np.eye(n)

    def inverse(s):
        i = lapack.dpotri(chol(F(s + jitter * eye)), lower=1, overwrite_c=1)[0]
        i = np.tril(i)
        i += np.tril(i, -1).T
        return i
    kept = [inverse(s) for s in q.s[:c]]
    d = np.empty(c)

    def run():
        inv = inverse(q.s[c])
        for i in range(c):
            dm = q.m[c] - q.m[i]
            d[i] = 0.5 * (np.vdot(kept[i] - inv, q.s[c] - q.s[i]) + dm @ ((kept[i] + inv) @ dm))
    return Task(run, lambda: d, per=c)


@form("online-jeffreys", "numpy textbook: inv")
def _(p):
    q, jitter = Moments(p), p.params["jitter"]
    n, c = len(q.m[0]), len(q.m) - 1
    d = np.empty(c)

    def run():
        for i in range(c):
            s0, s1 = q.s[c] + jitter * np.eye(n), q.s[i] + jitter * np.eye(n)
            p0, p1, dm = np.linalg.inv(s0), np.linalg.inv(s1), q.m[c] - q.m[i]
            d[i] = 0.5 * (np.trace(p0 @ s1) + np.trace(p1 @ s0) + dm @ (p0 + p1) @ dm) - n
    return Task(run, lambda: d, per=c)


def fixed_point(s, covs):
    """L and G = L^-T sum_i (L' S_i L)^1/2 / N, for S = L L'."""
    l = chol(s)
    a = np.zeros(s.shape, order="F")
    for c in covs:
        m = blas.dtrmm(1.0, l, blas.dtrmm(1.0, l, c, lower=1, trans_a=1), side=1, lower=1)
        lam, v = eigh(m)
        x = v * np.sqrt(np.sqrt(np.maximum(lam, 0)))
        a = blas.dsyrk(1.0 / len(covs), x, 1.0, a, lower=1, overwrite_c=1)
    return l, blas.dtrsm(1.0, l, F(sym_lower(a)), lower=1, trans_a=1)


def barycentre(covs, memory, tol=1e-10, most=200):
    """Cholesky form, an eigendecomposition for each member, Anderson mixing."""
    n = len(covs[0])
    il = np.tril_indices(n)
    r = sum(sqrt_eigh(c) for c in covs) / len(covs)
    s, xs, rs = F(r @ r), [], []
    for k in range(1, most + 1):
        l, g = fixed_point(s, covs)
        fs = g @ g.T
        if np.linalg.norm(fs - s) / np.linalg.norm(s) < tol:
            return fs, k
        x, y = s[il], fs[il]
        xs.append(y)
        rs.append(y - x)
        if len(xs) > memory + 1:
            xs.pop(0)
            rs.pop(0)
        s = F(fs)
        if len(xs) > 1:
            d = np.array([rs[-1] - e for e in rs[:-1]]).T
            c, *_ = np.linalg.lstsq(d, rs[-1], rcond=1e-10)
            mixed = np.zeros((n, n))
            mixed[il] = xs[-1] - sum(cj * (xs[-1] - xs[j]) for j, cj in enumerate(c))
            mixed = F(sym_lower(mixed))
            if lapack.dpotrf(mixed, lower=1)[1]:
                xs, rs = [], []
            else:
                s = mixed
    raise ValueError("no convergence")


def barycentre_form(name, memory):
    @form("barycentre", name)
    def _(p):
        q, out = Moments(p), [None, 0]

        def run():
            out[0], out[1] = barycentre(q.s, memory)
        return Task(run, lambda: sample(out[0]))


barycentre_form("numpy Cholesky-eigh, Anderson 4", 4)
barycentre_form("numpy Cholesky-eigh, plain", 0)


def matern32(x, y, length):
    d = np.maximum((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T, 0)
    r = np.sqrt(d * (3 / length**2))
    return (1 + r) * np.exp(-r)


@form("posterior", "numpy by hand")
def _(p):
    x, y, z = p["x"], p["y"], p["z"]
    length = p.params["length"]
    k = matern32(x, x, length)
    k[np.diag_indices(len(x))] += p.params["noise"]
    l = chol(F(k))
    beta = blas.dtrsv(l, y, lower=1)
    out = [None, None]

    def run():
        v = blas.dtrsm(1.0, l, F(matern32(x, z, length)), lower=1, overwrite_b=1)
        out[0] = v.T @ beta
        out[1] = matern32(z, z, length) - v.T @ v
    return Task(run, lambda: sample(out[0], out[1]))
