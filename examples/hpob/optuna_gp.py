"""Optuna's Gaussian process on the rows of a table, beside runs of hpob.

For each run of a method in the folder of an experiment it starts from the same initial rows and
asks, as often as the run did, for the row of the largest LogEI that was not asked for, by the fit
and the acquisition of Optuna's GPSampler with its settings. It prints the mean areas under the
curves of normalised simple regret, and their ratio with 95 % of a bootstrap that draws tasks.

    pip install optuna==5.0.0 torch scipy
    go run ./examples/hpob -experiment paper -acquisition EI -repeats 1 -method no-past -data FILE -space SPACE -out DIR
    python examples/hpob/optuna_gp.py FILE SPACE DIR [METHOD]
"""

import gzip
import json
import random
import sys
from collections import defaultdict

import numpy as np
import torch
from optuna._gp import acqf, gp, prior, search_space
from optuna.distributions import FloatDistribution


def queries(x, y, initial, budget):
    """Returns the rows asked for, the initial ones first."""
    dim = x.shape[1]
    space = search_space.SearchSpace({f"x{i:03d}": FloatDistribution(0, 1) for i in range(dim)})
    rows, fitted = list(initial), None
    while len(rows) < len(initial) + budget:
        z = (y[rows] - y[rows].mean()) / max(1e-10, y[rows].std())
        fitted = gp.fit_kernel_params(
            X=x[rows],
            Y=z,
            is_categorical=np.zeros(dim, bool),
            log_prior=prior.default_log_prior,
            minimum_noise=prior.DEFAULT_MINIMUM_NOISE_VAR,
            deterministic_objective=False,
            gpr_cache=fitted,
        )
        score = acqf.LogEI(gpr=fitted, search_space=space, threshold=float(z.max())).eval_acqf_no_grad(x)
        score = np.array(score)
        score[rows] = -np.inf
        rows.append(int(score.argmax()))
    return rows


def regrets(y, rows):
    return (y.max() - np.maximum.accumulate(y[rows])) / (y.max() - y.min())


def main(data, space, folder, method="no-past"):
    torch.set_num_threads(1)
    opened = gzip.open(data) if data.endswith(".gz") else open(data)
    tasks = json.load(opened)[space]
    first = json.load(open(folder + "/experiment.json"))["protocol"]["initial"]
    areas = defaultdict(lambda: [0.0, 0.0])
    runs = 0
    for line in open(folder + "/runs.jsonl"):
        r = json.loads(line)
        if r["method"] != method or r["space"] != space:
            continue
        x = np.array(tasks[r["task"]]["X"], float)
        y = np.array([v[0] if isinstance(v, list) else v for v in tasks[r["task"]]["y"]], float)
        x = (x - x.min(0)) / np.where(np.ptp(x, 0) > 0, np.ptp(x, 0), 1)
        # A run of a table with fewer rows than its budget ends with them, and keeps its last regret.
        budget = len(r["regret"]) - 1
        if abs(regrets(y, r["rows"])[-1] - r["regret"][-1]) > 1e-9:
            sys.exit(f"task {r['task']}: the table is not that of the runs")
        theirs = regrets(y, queries(x, y, r["rows"][:first], len(r["rows"]) - first))[first:]
        theirs = np.append(theirs, np.full(budget - len(theirs), theirs[-1]))
        areas[r["task"]][0] += sum(r["regret"][1:]) / budget
        areas[r["task"]][1] += theirs.mean()
        runs += 1
    pairs = list(areas.values())

    def ratio(drawn):
        return sum(a for a, _ in drawn) / max(sum(b for _, b in drawn), 1e-300)

    source = random.Random(1)
    drawn = sorted(ratio(source.choices(pairs, k=len(pairs))) for _ in range(2000))
    print(f"{space}: {runs} runs, area {sum(a for a, _ in pairs) / runs:.5f}, Optuna's {sum(b for _, b in pairs) / runs:.5f}, ratio {ratio(pairs):.2f} [{drawn[50]:.2f}, {drawn[1949]:.2f}]")


main(*sys.argv[1:])
