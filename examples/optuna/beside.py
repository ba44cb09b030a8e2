"""Compares CmboSampler, without a past, with a sampler of Optuna's on functions of numbers and choices.

Each problem has a function of its own, drawn by its number; both samplers get the same budget and their own seeds. The
table has the ratio of the regrets, that of CmboSampler over the other's, as a geometric mean over problems with an interval
of two standard errors. Regret is the distance of the best value from the largest; with noise, of the value without noise
at the trial that each would use: the service's recommendation, and the trial of the best value.

    CMBO_SERVICE=program of examples/service  python beside.py --problems 12 --evaluations 10 20 40
"""

import argparse
import json
import math
import os
import random
import subprocess
import tempfile
import urllib.request

import optuna
from cmbo_sampler import ATTR, CmboSampler
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState

FLOOR = 1e-6  # regrets below count as it
FAMILIES = ("ellipsoid", "Ackley", "Levy", "choices", "border", "failures")


class Problem:
    """A function with the largest value 0, or next to it, in the region that holds the limit and does not fail."""

    def __init__(self, family: str, number: int) -> None:
        draw = random.Random(f"{family} {number}")
        self.family, self.mixed = family, family in ("choices", "border", "failures")
        self.dim = 3 if self.mixed else (2, 3, 4, 6)[number % 4]
        self.best = [0.2 + 0.6 * draw.random() for _ in range(self.dim)]
        self.weights = [math.exp(0.7 * draw.gauss(0, 1)) for _ in range(self.dim)]
        self.turn = [draw.gauss(0, 1) for _ in range(self.dim)]
        self.kind = [0.0, 0.3 * draw.expovariate(1), 0.3 * draw.expovariate(1)]
        self.flag = 0.2 * draw.expovariate(1)
        self.slope = [0.3 + draw.random() for _ in range(self.dim)]
        self.space = {f"x{j}": FloatDistribution(0, 1) for j in range(self.dim)}
        if self.mixed:
            self.space |= {"kind": CategoricalDistribution(["a", "b", "c"]), "flag": CategoricalDistribution([False, True])}

    def away(self, p: dict) -> list[float]:
        return [p[f"x{j}"] - c for j, c in enumerate(self.best)]

    def load(self, p: dict) -> float:
        """Holds up to 0: a curved border through the best point."""
        d = self.away(p)
        return sum(s * e for s, e in zip(self.slope, d)) + sum(math.sin(4 * e) ** 2 for e in d) / 8

    def fails(self, p: dict) -> bool:
        """On one side of the best point, which lies on the border."""
        return self.family == "failures" and self.load(p) > 0

    def value(self, p: dict) -> float:
        d = self.away(p)
        far, waves = sum(e * e for e in d) / self.dim, sum(math.cos(6 * math.pi * e) for e in d) / self.dim
        if self.family == "Ackley":
            return -(1 - math.exp(-2 * math.sqrt(far))) - (1 - waves) / 8
        if self.family == "Levy":
            w = [1 + 1.5 * e for e in d]
            rest = sum((v - 1) ** 2 * (1 + 4 * math.sin(math.pi * v + (j > 0)) ** 2) for j, v in enumerate(w))
            return -(math.sin(math.pi * w[0]) ** 2 + rest) / self.dim
        along = sum(t * e for t, e in zip(self.turn, d))
        value = -sum(w * e * e for w, e in zip(self.weights, d)) - along * along
        if self.mixed:
            value -= self.kind["abc".index(p["kind"])] + p["flag"] * self.flag * (1 + d[0] * d[0])
        if self.family in ("border", "failures"):
            value += 0.5 * sum(s * e for s, e in zip(self.slope, d))  # grows beyond the border
        return value


def run(problem: Problem, sampler: optuna.samplers.BaseSampler, evaluations: list[int], noise: float, seed: int, use) -> list[float]:
    """The regrets after so many evaluations."""
    study, errors = optuna.create_study(study_name=f"{problem.family} {seed}", sampler=sampler, direction="maximize"), random.Random(seed)
    best, out = -math.inf, []
    for n in range(1, max(evaluations) + 1):
        trial = study.ask(problem.space)
        if problem.fails(trial.params):
            study.tell(trial, state=TrialState.FAIL)
        else:
            load, value = problem.load(trial.params), problem.value(trial.params)
            trial.set_user_attr("load", load)
            study.tell(trial, value + noise * errors.gauss(0, 1))
            if problem.family != "border" or load <= 0:
                best = max(best, value)
        if n in evaluations:
            out.append(-(problem.value(use(study)) if noise else best))
    return out


def within(regret: float) -> float:
    return min(max(regret, FLOOR), 10)  # that of no value is infinite


def ratio(logs: tuple[float, ...]) -> str:
    mean = sum(logs) / len(logs)
    error = 2 * math.sqrt(sum((v - mean) ** 2 for v in logs)) / len(logs)
    return "%.2f [%.2f, %.2f]" % tuple(math.exp(mean + by * error) for by in (0, -1, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=12, help="of each family")
    parser.add_argument("--evaluations", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--families", nargs="+", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--noise", type=float, default=0, help="deviation; the range of the values is about 1")
    parser.add_argument("--rival", default="GPSampler", help="a sampler of Optuna's; GPSampler needs torch 2 and scipy")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as directory:
        service = subprocess.Popen([os.environ["CMBO_SERVICE"], "-dir", directory, "-addr", "127.0.0.1:0", "-max-studies", "5000"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            compare(args, service.stdout.readline().split()[2])
        finally:
            service.kill()
            service.wait()


def compare(args: argparse.Namespace, url: str) -> None:
    def recommended(study: optuna.Study) -> dict:
        run = next(t.system_attrs[ATTR]["study"] for t in study.trials if ATTR in t.system_attrs)
        with urllib.request.urlopen(f"{url}/v1/studies/{run}/diagnostics") as answer:
            return dict(zip(sorted(study.trials[0].distributions), json.load(answer)["recommendation"]["x"]))

    def row(name: str, cells) -> None:
        print(f"{name:32}" + "".join(f"{cell:>22}" for cell in cells), flush=True)

    if args.noise and set(args.families) & {"choices", "border", "failures"}:
        raise SystemExit("with noise: --families ellipsoid Ackley Levy")

    row(f"regret over that of {args.rival}", (f"after {n}" for n in args.evaluations))
    everything = []
    for family in args.families:
        logs = []
        for number in range(args.problems):
            problem, kwargs = Problem(family, number), {}
            if family == "border":
                kwargs["constraints_func"] = lambda t: (t.user_attrs.get("load", 1),)
            rival = getattr(optuna.samplers, args.rival)
            exact = {"deterministic_objective": not args.noise} if args.rival == "GPSampler" else {}
            cmbo = CmboSampler(url, search_space=problem.space, seed=number, constraints=["load"] if kwargs else (), **kwargs)
            ours = run(problem, cmbo, args.evaluations, args.noise, number, recommended)
            theirs = run(problem, rival(seed=number, **exact, **kwargs), args.evaluations, args.noise, number, lambda study: study.best_params)
            logs.append([math.log(within(a) / within(b)) for a, b in zip(ours, theirs)])
        row(family, (ratio(v) for v in zip(*logs)))
        everything += logs
    row("all", (ratio(v) for v in zip(*everything)))


if __name__ == "__main__":
    main()
