"""Makes the journals of this folder with the Optuna that runs it, and beside each
what that Optuna itself reads back from it.

    python -m venv v && v/bin/pip install optuna==4.9.0
    v/bin/python make.py .

writes optuna-4.9.0-<name>.log and optuna-4.9.0-<name>.json for the journals
below. The journals hold worker IDs and times, so another run gives other bytes.
"""

import json
import multiprocessing
import os
import sys
import warnings

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.trial import TrialState, create_trial

try:
    from optuna.storages.journal import JournalFileBackend
except ImportError:  # before Optuna 4
    from optuna.storages import JournalFileStorage as JournalFileBackend

warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def storage(path):
    return JournalStorage(JournalFileBackend(path))


def sampler(seed):
    return optuna.samplers.RandomSampler(seed=seed)


def suggest(trial):
    """One parameter of every kind Optuna has."""
    return (
        trial.suggest_float("lr", 1e-5, 1e-1, log=True),
        trial.suggest_float("momentum", 0.0, 0.99),
        trial.suggest_float("dropout", 0.0, 0.5, step=0.1),
        trial.suggest_int("depth", 1, 12),
        trial.suggest_int("batch", 4, 512, log=True),
        trial.suggest_int("width", 16, 256, step=16),
        trial.suggest_categorical("kernel", ["rbf", "poly, 3", 'say "hi"']),
        trial.suggest_categorical("penalty", [None, 1, 2.5, "1.0", 1e-05]),
        trial.suggest_categorical("bias", [True, False]),
    )


def objective(trial):
    lr, momentum, dropout, depth, batch, width, kernel, penalty, bias = suggest(trial)
    y = (depth - 5) ** 2 / 7 + momentum / 3 + lr + dropout * width / batch + len(kernel) + bool(bias)
    trial.set_user_attr("note", "NaN, Infinity and } in a string")
    trial.set_user_attr("nan", float("nan"))
    if trial.number == 2:
        raise RuntimeError("diverged")
    if trial.number == 3:
        trial.report(y + 2, 0)
        trial.report(y + 1, 7)
        raise optuna.TrialPruned()
    if trial.number == 4:
        trial.report(float("nan"), 0)
        trial.report(float("inf"), 1)
    if trial.number == 5:
        return float("nan")
    return y


def basic(path):
    """Two studies: complete, failed, pruned, running, enqueued and added trials."""
    for k, name in enumerate(["svm on iris", "svm on digits"]):
        s = optuna.create_study(storage=storage(path), study_name=name, sampler=sampler(k))
        s.set_user_attr("data set", name)
        s.enqueue_trial({"lr": 1e-2, "depth": 3})
        s.optimize(objective, n_trials=6, catch=(RuntimeError,))
        s.add_trial(
            create_trial(
                value=0.1 + 0.2,
                params={"lr": 1e-5, "momentum": 0.99, "dropout": 0.3, "depth": 12, "batch": 4, "width": 16,
                        "kernel": "poly, 3", "penalty": 1e-05, "bias": False},
                distributions={
                    "lr": FloatDistribution(1e-5, 1e-1, log=True),
                    "momentum": FloatDistribution(0.0, 0.99),
                    "dropout": FloatDistribution(0.0, 0.5, step=0.1),
                    "depth": IntDistribution(1, 12),
                    "batch": IntDistribution(4, 512, log=True),
                    "width": IntDistribution(16, 256, step=16),
                    "kernel": CategoricalDistribution(["rbf", "poly, 3", 'say "hi"']),
                    "penalty": CategoricalDistribution([None, 1, 2.5, "1.0", 1e-05]),
                    "bias": CategoricalDistribution([True, False]),
                },
                user_attrs={"from": "a paper"},
                intermediate_values={0: float("-inf"), 1: 0.5},
            )
        )
        suggest(s.ask())  # stays running
        s.enqueue_trial({"lr": 1e-3})  # stays waiting


def edge(path):
    """Studies of both directions, of two objectives, without trials, deleted; ranges
    and parameters that change, values that are not finite or out of range."""
    st = storage(path)
    gone = optuna.create_study(storage=st, study_name="deleted", sampler=sampler(0))
    gone.optimize(lambda t: t.suggest_float("x", 5, 6), n_trials=2)
    optuna.delete_study(storage=st, study_name="deleted")
    optuna.create_study(storage=st, study_name="empty")

    s = optuna.create_study(storage=st, study_name="up", direction="maximize", sampler=sampler(1))
    s.optimize(lambda t: -t.suggest_float("x", 0, 1), n_trials=3)
    s.optimize(lambda t: float("inf") * (1 + t.suggest_float("x", 0, 1)), n_trials=1)
    s.enqueue_trial({"x": 7.5})
    s.optimize(lambda t: -t.suggest_float("x", 0, 1), n_trials=1)

    s = optuna.create_study(storage=st, study_name="down", sampler=sampler(2))
    s.optimize(lambda t: t.suggest_float("x", 0, 1) ** 2, n_trials=2)
    s.optimize(lambda t: t.suggest_float("x", 0, 2) ** 2, n_trials=2)  # a wider range

    s = optuna.create_study(storage=st, study_name="branches", sampler=sampler(3))

    def branches(t):
        if t.suggest_categorical("model", ["svm", "tree"]) == "svm":
            return t.suggest_float("c", 1e-3, 1e3, log=True)
        return t.suggest_int("leaves", 2, 8)

    s.optimize(branches, n_trials=6)

    s = optuna.create_study(storage=st, study_name="two", directions=["minimize", "maximize"], sampler=sampler(4))
    s.optimize(lambda t: (t.suggest_float("x", 0, 1), 1.0), n_trials=2)

    # a name that was deleted is free again
    s = optuna.create_study(storage=st, study_name="deleted", direction="maximize", sampler=sampler(5))
    s.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)


def work(path, seed):
    s = optuna.load_study(study_name="shared", storage=storage(path), sampler=sampler(seed))

    def f(t):
        x, n = t.suggest_float("x", -2, 2), t.suggest_int("n", 1, 4)
        return x * x + n / 3

    s.optimize(f, n_trials=6, n_jobs=2)


def parallel(path):
    """Two processes of two threads each write one study."""
    optuna.create_study(storage=storage(path), study_name="shared")
    ps = [multiprocessing.Process(target=work, args=(path, k)) for k in range(2)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()


def torn(path):
    """A process was killed within the line that ends its second trial."""
    s = optuna.create_study(storage=storage(path), study_name="torn", sampler=sampler(6))
    s.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
    with open(path, "rb+") as f:
        f.truncate(os.path.getsize(path) - 60)


def plain(v):
    """A value that strict JSON can hold."""
    if isinstance(v, float) and (v != v or v in (float("inf"), float("-inf"))):
        return repr(v)
    return v


def readback(path):
    """What Optuna reads from the journal."""
    out = []
    for s in storage(path).get_all_studies():
        trials = []
        for t in storage(path).get_all_trials(s._study_id):
            trials.append({
                "number": t.number,
                "state": t.state.name,
                "params": {k: plain(v) for k, v in t.params.items()},
                "values": None if t.values is None else [plain(v) for v in t.values],
                "last": plain(t.intermediate_values[t.last_step]) if t.last_step is not None else None,
            })
        out.append({"name": s.study_name, "directions": [d.name for d in s.directions], "trials": trials})
    return {"optuna": optuna.__version__, "studies": out}


def main(folder):
    for f in (basic, edge, parallel, torn):
        path = os.path.join(folder, f"optuna-{optuna.__version__}-{f.__name__}.log")
        if os.path.exists(path):
            os.remove(path)
        f(path)
        with open(path[: -len(".log")] + ".json", "w") as out:
            json.dump(readback(path), out, separators=(",", ":"))
            out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
