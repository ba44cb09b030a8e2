"""scikit-learn's Gaussian process regression, and stages 1 and 2 of the method
built from it."""
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from forms_gauss import by_eigenvalues, chol
from registry import F, Task, form, sample


@form("posterior", "sklearn predict")
def _(p):
    k = ConstantKernel(1.0) * Matern(p.params["length"], nu=1.5)
    gp = GaussianProcessRegressor(k, alpha=p.params["noise"], optimizer=None).fit(p["x"], p["y"])
    z, out = p["z"], [None, None]

    def run():
        out[0], out[1] = gp.predict(z, return_cov=True)
    return Task(run, lambda: sample(out[0], out[1]))


def likelihood(clone):
    def make(p):
        lengths = p["lengths"]
        k = ConstantKernel(1.0) * Matern(lengths if len(lengths) > 1 else lengths[0], nu=1.5)
        gp = GaussianProcessRegressor(k, alpha=p.params["noise"], optimizer=None).fit(p["x"], p["y"])
        theta, out = gp.kernel_.theta, [None, None]

        def run():
            out[0], out[1] = gp.log_marginal_likelihood(theta, eval_gradient=True, clone_kernel=clone)
        return Task(run, lambda: [out[0]] + list(out[1]))
    return make


form("likelihood", "sklearn")(likelihood(True))
form("likelihood", "sklearn, no clone")(likelihood(False))


def fit(x, y, kernel, seed):
    """One task: three searches within the library's bounds (there are no priors to
    give), noise fitted too."""
    k = ConstantKernel(1.0, (0.05, 20)) * kernel + WhiteKernel(0.01, (1e-4, 1))
    gp = GaussianProcessRegressor(k, alpha=1e-10, n_restarts_optimizer=2, random_state=seed).fit(x, y)
    # Posteriors are of the function, not of further measurements.
    latent = gp.kernel_.k1
    noise = gp.kernel_.k2.noise_level
    return GaussianProcessRegressor(latent, alpha=noise, optimizer=None).fit(x, y)


class Point:
    def __init__(self, m, s):
        self.m, self.s, self.l, self.t = m, s, chol(F(s)), np.trace(s)


def squared(a, b):
    dm = a.m - b.m
    return max(dm @ dm + a.t + b.t - 2 * by_eigenvalues(a.l, b.l), 0.0)


def kmeans(points, c, seed, rounds=50):
    """Seeding by k-means++, arithmetic centres, until labels stay."""
    rng = np.random.default_rng(seed)
    centres = [points[rng.integers(len(points))]]
    d = np.array([[squared(p, centres[0]) for p in points]])
    while len(centres) < c:
        w = d.min(0)
        centres.append(points[rng.choice(len(points), p=w / w.sum())])
        d = np.vstack([d, [squared(p, centres[-1]) for p in points]])
    labels = d.argmin(0)
    for _ in range(rounds):
        for i in range(c):
            g = [p for p, l in zip(points, labels) if l == i]
            if g:
                s = sum(p.s for p in g) / len(g)
                centres[i] = Point(sum(p.m for p in g) / len(g), s)
        d = np.array([[squared(p, q) for p in points] for q in centres])
        new = d.argmin(0)
        if (new == labels).all():
            break
        labels = new
    return labels, d.min(0).sum()


@form("learn", "sklearn and numpy")
def _(p):
    xs, ys, candidates = p["x"], p["y"], p["candidates"]
    rng = np.random.default_rng(1)
    on = candidates[rng.permutation(len(candidates))[:100]]
    eye = 1e-8 * np.eye(len(on))
    out = [None]

    def run():
        prior, points = [], []
        for j, (x, y) in enumerate(zip(xs, ys)):
            y = (y - y.mean()) / y.std()
            d = np.sqrt(x.shape[1]) / 2
            prior.append(fit(x, y, Matern(d, (0.02, 20), nu=1.5), j))
            gp = fit(x, y, Matern(d, (0.02, 20), nu=1.5) * Matern(d, (0.02, 20), nu=0.5), j)
            m, s = gp.predict(on, return_cov=True)
            points.append(Point(m, s + eye))
        labels, _ = min((kmeans(points, 4, seed) for seed in range(3)), key=lambda r: r[1])
        out[0] = []
        for i in range(4):
            g = [q.predict(candidates, return_cov=True) for q, l in zip(prior, labels) if l == i]
            if g:
                out[0].append((sum(m for m, _ in g) / len(g), sum(s for _, s in g) / len(g)))
    return Task(run, lambda: [])
