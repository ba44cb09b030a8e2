"""Reads a run of this folder's form with DeepCAVE and compares it with the files.

    python3.10 -m venv v && v/bin/pip install deepcave==1.4.1
    v/bin/python check.py FOLDER

DeepCAVE's own converter must take FOLDER for a run, keep every row of trials.csv
with its value, parameters and seed, and have the ranges of configspace.csv;
its importance analysis, cost over time and encoding must run on it.
"""

import csv
import re
import sys
import warnings

warnings.simplefilter("ignore")

import numpy as np
from deepcave.evaluators.fanova import fANOVA
from deepcave.runs.converters.dataframe import DataFrameRun
from deepcave.runs.handler import RunHandler  # noqa: F401  (imports as the dashboard does)


def main(folder):
    assert DataFrameRun.is_valid_run(folder)
    run = DataFrameRun.from_path(folder)

    space = {r["name"]: r for r in csv.DictReader(open(folder + "/configspace.csv", newline=""))}
    rows = list(csv.DictReader(open(folder + "/trials.csv", newline="")))
    assert set(run.configspace.keys()) == set(space)
    for name, r in space.items():
        hp = run.configspace[name]
        if r["type"] == "categorical":
            items = [v for k, v in r.items() if k.startswith("item_") and v != ""]
            assert list(hp.choices) == items, (hp.choices, items)
        else:
            lo, hi = float(r["lower"]), float(r["upper"])
            assert np.allclose((hp.lower, hp.upper), (lo, hi), rtol=1e-14, atol=0), (hp, lo, hi)
            assert hp.log == (r["log"] == "True")

    metric = [k for k in rows[0] if k.startswith("metric")]
    name, lo, hi, goal = re.match(r"metric:(\w+) \[(.*); (.*)\] \((.*)\)", metric[0]).groups()
    objective = run.get_objectives()[0]
    assert (objective.name, objective.lower, objective.upper) == (name, float(lo), float(hi))
    assert objective.optimize == {"minimize": "lower", "maximize": "upper"}[goal]

    assert len(run.history) == len(rows), f"{len(run.history)} trials of {len(rows)} rows"
    for t, r in zip(run.history, rows):
        config = run.configs[t.config_id]
        for k, v in config.items():
            if space[k]["type"] == "categorical":
                assert v == r[k], (v, r[k])
            else:
                assert np.isclose(float(v), float(r[k]), rtol=1e-14, atol=0), (v, r[k])
        assert np.isclose(t.costs[0], float(r[metric[0]]), rtol=1e-14, atol=0)
        assert (t.config_id, t.seed, t.status.name) == (int(r["config_id"]), int(r["seed"]), "SUCCESS")
        assert t.additional["trial"] == int(r["trial"])

    budget = run.get_highest_budget()
    encoded = run.get_encoded_data(objectives=objective, budget=budget)
    assert not encoded.isna().any().any(), encoded
    times, costs, _, _, _ = run.get_trajectory(objective=objective, budget=budget)
    values = [float(r[metric[0]]) for r in rows]
    incumbent, best = run.get_incumbent(objectives=objective, budget=budget)
    f = fANOVA(run)
    f.calculate(objectives=objective, budget=budget, n_trees=4, seed=0)
    importances = f.get_importances(list(space))
    assert set(importances) == set(space)
    print(f"{folder}: {len(rows)} rows, {len(run.configs)} configurations, best {best:g} "
          f"(rows {min(values):g} to {max(values):g}), {len(times)} steps of the trajectory, ends at {costs[-1]:g}")
    for k, v in sorted(importances.items(), key=lambda kv: -kv[1][0]):
        print(f"  {k}: importance {v[0]:.3f}")


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
