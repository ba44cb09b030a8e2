"""Makes the exports of data frames that history reads, and what they hold.

    python -m venv venv && venv/bin/pip install mlflow-skinny==3.17.2 optuna==5.0.0 pandas==3.1.1
    venv/bin/python make.py

mlflow.csv and mlflow.jsonl are mlflow.search_runs() of two experiments, as
to_csv() and to_json(orient="records", lines=True) write it; optuna.csv is
study.trials_dataframe().to_csv(). mlflow.json and optuna.json list what was
logged: for each run its task, its parameters, its value, and how it ended.
"""

import json
import os
import random
import shutil
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

import mlflow
import optuna

mlflow.utils.logging_utils.disable_logging()
optuna.logging.set_verbosity(optuna.logging.ERROR)


def dump(name, rows):
    with open(name, "w") as f:
        json.dump(rows, f, indent=1)
        f.write("\n")


def make_mlflow():
    rng = random.Random(1)
    store = tempfile.mkdtemp()
    mlflow.set_tracking_uri("file:" + store)
    rows = []
    for name in ["svm on iris", "svm on digits"]:
        task = mlflow.set_experiment(name).experiment_id
        for i, end in enumerate(["FINISHED", "FINISHED", "FAILED", "FINISHED", "KILLED", "FINISHED", "FAILED"]):
            params = {
                "lr": 10 ** rng.uniform(-5, 0),
                "depth": rng.randint(1, 9),
                "kernel": rng.choice(["rbf", "poly, 3", 'say "hi"']),
                "bias": rng.random() < 0.5,
            }
            if i == 6:
                del params["bias"]  # it failed before
            if i == 3:
                del params["depth"]  # the default was meant
            with_value = end == "FINISHED" or end == "KILLED"
            value = rng.gauss(0, 1)
            mlflow.start_run(run_name=f"run {i}")
            mlflow.log_params(params)
            if with_value:
                mlflow.log_metric("loss", value)
            mlflow.set_tag("mlflow.note.content", 'two\nlines, and "quotes"')
            mlflow.end_run(end)
            rows.append({"task": task, "params": params, "value": value if with_value else None, "state": end})
    frame = mlflow.search_runs(search_all_experiments=True)
    # The path of the store is that of a temporary folder.
    frame["artifact_uri"] = frame["artifact_uri"].str.replace(store, "/mlruns")
    frame["tags.mlflow.user"] = "user"
    frame = frame.drop(columns=[c for c in frame if c.startswith("tags.mlflow.source.")])
    frame.to_csv("mlflow.csv")
    frame.to_json("mlflow.jsonl", orient="records", lines=True)
    dump("mlflow.json", rows[::-1])  # search_runs has the last first
    shutil.rmtree(store)


def make_optuna():
    study = optuna.create_study(study_name="net", sampler=optuna.samplers.RandomSampler(seed=1))
    rows = []

    def objective(trial):
        params = {
            "lr": trial.suggest_float("lr", 1e-5, 1e-1, log=True),
            "dropout": trial.suggest_float("dropout", 0.0, 0.5, step=0.1),
            "width": trial.suggest_int("width", 16, 256, step=16),
            "units": trial.suggest_categorical("units", [16, 32, 64]),
            "kernel": trial.suggest_categorical("kernel", ["rbf", "poly, 3"]),
        }
        row = {"task": "net", "params": params, "value": None, "state": "COMPLETE"}
        rows.append(row)
        if trial.number % 5 == 2:
            row["state"] = "FAIL"
            raise MemoryError
        if trial.number % 5 == 3:
            row["state"] = "FAIL"
            params["bias"] = trial.suggest_categorical("bias", [True, False])
            return float("nan")
        params["bias"] = trial.suggest_categorical("bias", [True, False])
        row["value"] = params["lr"] + params["dropout"] / 3
        if trial.number % 5 == 4:
            row["state"] = "PRUNED"
            trial.report(row["value"], 1)
            raise optuna.TrialPruned
        return row["value"]

    study.optimize(objective, n_trials=15, catch=(MemoryError,))
    study.ask()
    rows.append({"task": "net", "params": {}, "value": None, "state": "RUNNING"})
    frame = study.trials_dataframe()
    frame.to_csv("optuna.csv")
    dump("optuna.json", rows)


make_mlflow()
make_optuna()
