"""Computes the golden files of this project again.

    python golden.py [-write] [FILE ...]

For each FILE (all that are listed in FILES by default, from the root of the repository) it
takes the inputs from the file, computes every result from them and compares it with
the one that stands there. It prints the largest difference, relative to values above 1,
and exits with 1 if that is more than TOLERANCES allow, which is nothing for most files.
-write puts the numbers computed in place of those that differ.

It shares no code with what the files test. Results are computed from exactly the doubles
given, with 70 digits or more (mpmath), and rounded once; the trace of the method is
computed in doubles (numpy).
"""

import json
import math
import os
import sys

import mpmath
import numpy
from mpmath import mp, mpf

DIGITS = 50

# ---- matrices of any precision ------------------------------------------------------


def matrix(rows):
    return mpmath.matrix([[mpf(v) for v in r] for r in rows])


def column(v):
    return mpmath.matrix([mpf(x) for x in v])


def symmetric(a):
    return (a + a.T) / 2


def root(a):
    """The positive semidefinite square root of a symmetric matrix."""
    values, vectors = mpmath.eigsy(symmetric(a))
    n = a.rows
    d = mpmath.diag([mpmath.sqrt(max(values[i], mpf(0))) for i in range(n)])
    return symmetric(vectors * d * vectors.T)


def trace(a):
    return mpmath.fsum(a[i, i] for i in range(a.rows))


def logdet(a):
    factor = mpmath.cholesky(a)
    return 2 * mpmath.fsum(mpmath.log(factor[i, i]) for i in range(a.rows))


def near_zero(x, scale):
    """Rounds to 0 what is nothing but the rounding of terms of size scale."""
    return mpf(0) if abs(x) <= scale * mpf(10) ** (-DIGITS // 2) else x


# ---- kernels ------------------------------------------------------------------------

SHAPES = {
    "matern12": lambda r: mpmath.exp(-r),
    "matern32": lambda r: (1 + mpmath.sqrt(3) * r) * mpmath.exp(-mpmath.sqrt(3) * r),
    "matern52": lambda r: (1 + mpmath.sqrt(5) * r + 5 * r * r / 3) * mpmath.exp(-mpmath.sqrt(5) * r),
    "se": lambda r: mpmath.exp(-r * r / 2),
}
# Derivatives with respect to r.
SLOPES = {
    "matern12": lambda r: -mpmath.exp(-r),
    "matern32": lambda r: -3 * r * mpmath.exp(-mpmath.sqrt(3) * r),
    "matern52": lambda r: -(5 * r / 3) * (1 + mpmath.sqrt(5) * r) * mpmath.exp(-mpmath.sqrt(5) * r),
    "se": lambda r: -r * mpmath.exp(-r * r / 2),
}


def distance(x, z, lengths):
    return mpmath.sqrt(mpmath.fsum(((mpf(a) - mpf(b)) / mpf(l)) ** 2 for a, b, l in zip(x, z, lengths)))


def shape(kernel, r):
    return mpmath.fprod(SHAPES[k](r) for k in kernel.split("*"))


def slope(kernel, r):
    parts = kernel.split("*")
    return mpmath.fsum(
        SLOPES[k](r) * mpmath.fprod(SHAPES[o](r) for j, o in enumerate(parts) if j != i) for i, k in enumerate(parts)
    )


def gram(kernel, variance, lengths, x, z):
    return mpmath.matrix([[mpf(variance) * shape(kernel, distance(a, b, lengths)) for b in z] for a in x])


# ---- the files ----------------------------------------------------------------------


def kernels(case):
    case["k"] = mpf(case["variance"]) * shape(case["kernel"], distance(case["x"], case["z"], case["lengthscales"]))


def factors(case):
    a, b = matrix(case["a"]), column(case["b"])
    values, _ = mpmath.eigsy(a)
    case["chol"] = mpmath.cholesky(a)
    case["logdet"] = logdet(a)
    case["solve"] = list(mpmath.lu_solve(a, b))
    case["inverse"] = mpmath.inverse(a)
    case["cond"] = max(values) / min(values)


def spectra(case):
    a, n = matrix(case["a"]), case["n"]
    values, _ = mpmath.eigsy(a)
    largest = max(abs(v) for v in values)
    case["eigenvalues"] = sorted(near_zero(v, largest) for v in values)
    s = root(a)
    size = mpmath.sqrt(largest)
    case["sqrt"] = [[near_zero(s[i, j], size) for j in range(n)] for i in range(n)]
    if case["cond"] is not None:  # of full rank
        case["cond"] = max(values) / min(values)


def kl(m0, s0, m1, s1):
    """KL(P0 || P1)."""
    d = m1 - m0
    inverse = mpmath.inverse(s1)
    return (trace(inverse * s0) + (d.T * inverse * d)[0] - m0.rows + logdet(s1) - logdet(s0)) / 2


def gaussians(case):
    m0, m1 = column(case["m0"]), column(case["m1"])
    s0, s1 = matrix(case["s0"]), matrix(case["s1"])
    r = root(s1)  # of a degenerate covariance, whose doubles are off by 1e-16, either root decides the ninth digit
    d = m0 - m1
    scale = mpmath.fsum(v * v for v in d) + trace(s0) + trace(s1)
    w2 = near_zero(scale - 2 * trace(root(r * s0 * r)), scale)
    case["w2_squared"], case["w2"] = w2, mpmath.sqrt(w2)
    if "kl_01" in case:  # not of degenerate covariances
        forth, back = near_zero(kl(m0, s0, m1, s1), mpf(1)), near_zero(kl(m1, s1, m0, s0), mpf(1))
        case["kl_01"], case["kl_10"], case["jeffreys"] = forth, back, forth + back


def barycentres(case):
    weights = [mpf(w) for w in case["weights"]]
    covs = [matrix(s) for s in case["covs"]]
    n = len(case["means"][0])
    case["mean"] = list(sum((w * column(m) for w, m in zip(weights, case["means"])), mpmath.zeros(n, 1)))
    # Alvarez-Esteban et al. 2016: B <- R^-1 (sum w (R S R)^1/2)^2 R^-1, R = B^1/2.
    b = sum((w * s for w, s in zip(weights, covs)), mpmath.zeros(n))
    while True:
        r = root(b)
        inner = sum((w * root(r * s * r) for w, s in zip(weights, covs)), mpmath.zeros(n))
        inverse = mpmath.inverse(r)
        following = symmetric(inverse * inner * inner * inverse)
        off = mpmath.mnorm(following - b, "f") / mpmath.mnorm(b, "f")
        b = following
        if off < mpf(10) ** -30:
            break
    size = mpmath.mnorm(b, "f")
    case["cov"] = [[near_zero(b[i, j], size) for j in range(n)] for i in range(n)]


def process(case):
    kernel, variance, lengths = case["kernel"], case["variance"], case["lengthscales"]
    noise, x, z = mpf(case["noise_variance"]), case["x"], case["z"]
    y, n = column(case["y"]), len(x)
    latent = gram(kernel, variance, lengths, x, x)
    k = latent + noise * mpmath.eye(n)
    cross = gram(kernel, variance, lengths, x, z)
    inverse = mpmath.inverse(k)
    alpha = inverse * y
    case["mean"] = list(cross.T * alpha)
    case["cov"] = gram(kernel, variance, lengths, z, z) - cross.T * inverse * cross
    case["log_marginal_likelihood"] = -((y.T * alpha)[0] + logdet(k) + n * mpmath.log(2 * mp.pi)) / 2
    # d LML / d t = tr((alpha alpha' - K^-1) dK/dt) / 2.
    w = alpha * alpha.T - inverse

    def derivative(dk):
        return mpmath.fsum(w[i, j] * dk(i, j) for i in range(n) for j in range(n)) / 2

    def by_length(l):
        def dk(i, j):  # dr/d log l_d = -((x_d - z_d) / l_d)^2 / r
            r = distance(x[i], x[j], lengths)
            if r == 0:
                return mpf(0)
            part = ((mpf(x[i][l]) - mpf(x[j][l])) / mpf(lengths[l])) ** 2
            return -mpf(variance) * slope(kernel, r) * part / r

        return dk

    case["grad_log_params"] = (
        [derivative(lambda i, j: latent[i, j])]
        + [derivative(by_length(l)) for l in range(len(lengths))]
        + [derivative(lambda i, j: noise if i == j else mpf(0))]
    )


def phi(z):
    return mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mp.pi)


def normal_cdf(z):
    return erfc(-z / mpmath.sqrt(2)) / 2


def normal_log_cdf(z):
    if z > 0:
        return mpmath.log1p(-normal_cdf(-z))
    return -z * z / 2 + mpmath.log(erfcx(-z / mpmath.sqrt(2)) / 2)


def erfcx(x):
    if x < 10**8:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    # Sum of (-1)^k (2k-1)!! / (2x^2)^k over x sqrt(pi): mpmath's own fails from 1e154 on.
    total = term = mpf(1)
    for k in range(1, 10**6):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
        if abs(term) < mp.eps:
            return total / (x * mpmath.sqrt(mp.pi))


def erfc(x):
    return mpmath.erfc(x) if x < 10**8 else erfcx(x) * mpmath.exp(-x * x)


def improvement_over_density(z):
    """(phi(z) + z Phi(z)) / phi(z), for z <= 0."""
    return 1 + z * mpmath.sqrt(mp.pi / 2) * erfcx(-z / mpmath.sqrt(2))


def expected_improvement(z):
    return phi(z) + z * normal_cdf(z)


def log_expected_improvement(z):
    if z > 0:
        return mpmath.log(expected_improvement(z))
    return -z * z / 2 - mpmath.log(2 * mp.pi) / 2 + mpmath.log(improvement_over_density(z))


def log_improvement_slope(z):
    if z > 0:
        return normal_cdf(z) / expected_improvement(z)
    return mpmath.sqrt(mp.pi / 2) * erfcx(-z / mpmath.sqrt(2)) / improvement_over_density(z)


def normal_quantile(p):
    if p > mpf(1) / 2:
        return -normal_quantile(1 - p)  # exact: no digit of a double's complement is lost
    z = -mpmath.sqrt(-2 * mpmath.log(p)) if p < 0.4 else mpf(0)
    target = mpmath.log(p)
    for _ in range(500):  # Newton's method on the logarithm, which is concave
        step = (normal_log_cdf(z) - target) * normal_cdf(z) / phi(z)
        z -= step
        if abs(step) <= abs(z) * mpf(10) ** (10 - mp.dps):
            return z
    raise ArithmeticError("no quantile of %s" % p)


SPECIAL = {
    "NormPDF": phi,
    "NormCDF": normal_cdf,
    "NormLogCDF": normal_log_cdf,
    "Erfcx": erfcx,
    "NormEI": expected_improvement,
    "NormLogEI": log_expected_improvement,
    "NormLogEISlope": log_improvement_slope,
    "NormQuantile": normal_quantile,
    "Log": mpmath.log,
}


def to_digits(f, x, digits):
    """f(x) with the precision raised until the digits no longer change."""
    last = None
    for dps in (60, 120, 240, 480, 960, 1920, 3840):
        with mp.workdps(dps):
            try:
                text = mpmath.nstr(f(mpf(x)), digits, strip_zeros=False)
            except (ValueError, ZeroDivisionError):  # all digits cancelled
                text = None
        if text is not None and text == last:
            return text  # the same with twice the digits
        last = None if text is None or "inf" in text else text
    raise ArithmeticError("%s(%r) does not settle" % (f.__name__, x))


def special_functions(table):
    f = SPECIAL[table["func"]]
    table["cases"] = [[x, to_digits(f, x, 40)] for x, _ in table["cases"]]


def acquisitions(case):
    mean, sd = mpf(case["mean"]), mpf(case["sd"])
    z = (mean - mpf(case["best"])) / sd

    def value(f):
        return mpf(to_digits(f, z, 40))

    case["ei"] = sd * value(expected_improvement)
    case["log_ei"] = mpmath.log(sd) + value(log_expected_improvement)
    case["pi"], case["log_pi"] = value(normal_cdf), value(normal_log_cdf)
    case["ucb_beta3"] = mean + 3 * sd


# ---- the trace of stages 2 and 3, in doubles ----------------------------------------


def matern32(a, b, length):
    r = numpy.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)) / length * math.sqrt(3)
    return (1 + r) * numpy.exp(-r)


def root_in_doubles(a):
    values, vectors = numpy.linalg.eigh((a + a.T) / 2)
    return (vectors * numpy.sqrt(values.clip(0))) @ vectors.T


def wasserstein_in_doubles(m0, s0, m1, s1):
    # The trace of (R0 S1 R0)^1/2 is the sum of the singular values of R0 R1.
    cross = numpy.linalg.svd(root_in_doubles(s0) @ root_in_doubles(s1), compute_uv=False).sum()
    return math.sqrt(max(0.0, ((m0 - m1) ** 2).sum() + numpy.trace(s0) + numpy.trace(s1) - 2 * cross))


def jeffreys_in_doubles(m0, s0, m1, s1):
    eye = 1e-6 * numpy.eye(len(m0))
    s0, s1, d = s0 + eye, s1 + eye, m0 - m1
    i0, i1 = numpy.linalg.inv(s0), numpy.linalg.inv(s1)
    return 0.5 * ((i1 * s0).sum() + (i0 * s1).sum() + d @ (i0 + i1) @ d) - len(d)


def barycentre_in_doubles(covs):
    b = sum(covs) / len(covs)
    for _ in range(2000):
        values, vectors = numpy.linalg.eigh(b)
        r, inverse = (vectors * numpy.sqrt(values)) @ vectors.T, (vectors / numpy.sqrt(values)) @ vectors.T
        inner = sum(root_in_doubles(r @ s @ r) for s in covs) / len(covs)
        following = inverse @ inner @ inner @ inverse
        following = (following + following.T) / 2
        off = numpy.linalg.norm(following - b) / numpy.linalg.norm(b)
        b = following
        if off < 1e-13:
            break
    return b


def posterior(mean, cov, at, y, noise):
    k = cov[numpy.ix_(at, at)] + noise * numpy.eye(len(at))
    gain = numpy.linalg.solve(k, cov[at, :]).T
    m = mean + gain @ (y - mean[at])
    c = cov - gain @ cov[at, :]
    return m, (c + c.T) / 2


def method(file):
    noise, length = 1e-3, 0.6
    grid, target, labels = numpy.array(file["grid"]), numpy.array(file["target"]), file["labels"]
    posteriors = []
    for s in file["sources"]:
        x, y = numpy.array(s["x"]), numpy.array(s["y"])
        both = numpy.vstack([grid, x])
        n = len(grid)
        m, c = posterior(numpy.zeros(len(both)), matern32(both, both, length), numpy.arange(n, len(both)), y, noise)
        posteriors.append((m[:n], c[:n, :n]))
    for t in file["traces"]:
        prototypes = []
        for label in sorted(set(labels)):
            members = [p for p, l in zip(posteriors, labels) if l == label]
            covs = [c for _, c in members]
            cov = barycentre_in_doubles(covs) if t["prototype"] == "barycenter" else sum(covs) / len(covs)
            prototypes.append((sum(m for m, _ in members) / len(members), cov))
        far = {"wasserstein": wasserstein_in_doubles, "jeffreys": jeffreys_in_doubles}[t["distance"]]
        weights, at = numpy.full(len(prototypes), 1 / len(prototypes)), list(file["initial"])
        for number, step in enumerate(t["steps"]):
            mean = sum(w * m for w, (m, _) in zip(weights, prototypes))
            cov = sum(w * w * c for w, (_, c) in zip(weights, prototypes))
            m, c = posterior(mean, cov, numpy.array(at), target[at], noise)
            sd = numpy.sqrt(c.diagonal().clip(0))
            if t["acquisition"] == "ucb":
                score = m + 3 * sd
            else:
                best = target[at].max()
                score = numpy.array([float(mpmath.log(s) + log_expected_improvement((mpf(v) - best) / s)) for v, s in zip(m, sd)])
            score[at] = -math.inf
            asked = int(score.argmax())
            distances = numpy.array([far(*p, m, c) for p in prototypes])
            after = numpy.exp(1 - distances / distances.max())
            after /= after.sum()
            order = numpy.sort(score)
            step.update(
                weights_before=weights.tolist(), asked=asked, value=float(target[asked]), distances=distances.tolist(),
                weights_after=after.tolist(), acq_gap_to_second=float(order[-1] - order[-2]),
            )
            if number in (0, len(t["steps"]) - 1):
                step.update(posterior_mean=m.tolist(), posterior_sd=sd.tolist())
            weights = after
            at.append(asked)


def cases(compute, key="cases"):
    def all_of(file):
        for case in file[key]:
            compute(case)

    return all_of


FILES = {
    "linalg/testdata/linalg.json": cases(factors),
    "linalg/spectral/testdata/spectral.json": cases(spectra),
    "kernel/testdata/kernel.json": cases(kernels),
    "gaussian/multivariate/testdata/gaussian.json": cases(gaussians),
    "gaussian/multivariate/testdata/barycenter.json": cases(barycentres),
    "gaussian/testdata/gp.json": cases(process),
    "cmbo/acq/testdata/acquisition.json": cases(acquisitions),
    "internal/special/testdata/special.json": cases(special_functions, "tables"),
    "cmbo/paper/testdata/cmbo_trace.json": method,
}

# Files whose numbers were computed in doubles, in part or all.
TOLERANCES = {
    "gaussian/multivariate/testdata/barycenter.json": 2e-16,  # the means
    "cmbo/paper/testdata/cmbo_trace.json": 1e-9,
}


def plain(v):
    """What a result is in JSON: a double, rounded once."""
    if isinstance(v, mpf):
        return float(v)
    if isinstance(v, mpmath.matrix):
        return [[float(v[i, j]) for j in range(v.cols)] for i in range(v.rows)]
    if isinstance(v, dict):
        return {k: plain(w) for k, w in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(w) for w in v]
    return v


def worst(a, b, place=""):
    """The largest difference of a and b, relative where they are large, and where it is."""
    if isinstance(a, dict):
        if a.keys() != b.keys():
            return math.inf, place
        return max((worst(a[k], b[k], "%s.%s" % (place, k)) for k in a), default=(0, place))
    if isinstance(a, list):
        if not isinstance(b, list) or len(a) != len(b):
            return math.inf, place
        return max((worst(v, w, "%s[%d]" % (place, i)) for i, (v, w) in enumerate(zip(a, b))), default=(0, place))
    if isinstance(a, str) or isinstance(b, str):
        return (0 if a == b else math.inf), place
    if a is None or b is None or isinstance(a, bool):
        return (0 if a is b else math.inf), place
    return abs(a - b) / max(1, abs(a)), place


def main(arguments):
    mp.dps = DIGITS + 20
    write = "-write" in arguments
    names = [a for a in arguments if a != "-write"] or list(FILES)
    repository = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    failed = False
    for name in names:
        path = os.path.join(repository, name)
        with open(path) as f:
            was = json.load(f)
        now = json.loads(json.dumps(was))
        FILES[name](now)
        now = plain(now)
        if now == was:
            print("%s: the same" % name)
            continue
        off, place = worst(was, now)
        print("%s: off by %.2g at %s" % (name, off, place))
        failed = failed or not off <= TOLERANCES.get(name, 0)
        if write:
            with open(path, "w") as f:
                json.dump(now, f, separators=(",", ":"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
