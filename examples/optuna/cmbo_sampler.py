"""An Optuna sampler and a pruner that ask the tuning service of examples/service."""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import re
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Iterable, Sequence

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler, RandomSampler
from optuna.samplers._base import _CONSTRAINTS_KEY, _process_constraints_after_trial
from optuna.search_space import intersection_search_space
from optuna.trial import FrozenTrial, TrialState

ATTR = "cmbo"  # system attribute of a trial: who proposed it, and what
REPORTED = "cmbo:reported"  # and that the service has values of its curve
RESUMES = "cmbo:resumes"  # user attribute of a trial: the number of the one whose checkpoint it goes on from
LASTING = ("damaged", "other_version")  # codes of refusals that are not over after a while
MOST = 1e150  # largest size of a value that the service takes
Space = dict[str, BaseDistribution]


class ServiceError(RuntimeError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class CmboSampler(BaseSampler):
    """Proposes what the service at ``url`` does.

    search_space has the distributions of an objective's parameters. Without it
    they are those that all completed trials have in common, so that a study's
    first trial is random. prior names a prior of the service (see learn) and
    needs search_space. options are those of a study of the service, such as
    acquisition="UCB(2)". Parameters outside the space are independent_sampler's.
    constraints_func is that of Optuna's own samplers: numbers of a trial that ended, of
    which those above 0 break a constraint; constraints names them, in their order. Each
    is an output of the service's study with the limit 0, which past studies of the same
    names teach. Any number of processes may work on one study; deadline, in seconds, is when
    the service takes a trial back that nobody ends. Requests are repeated for
    patience seconds if the service is away or its answer breaks off.
    With positive_values=True a trial whose value is not above 0 has failed. The service does
    not tell of a study that its prior was learned so: give the option with such a prior, too.
    """

    def __init__(self, url: str = "http://127.0.0.1:8080", *, token: str | None = None, search_space: Space | None = None,
                 prior: str | None = None, seed: int | None = None, independent_sampler: BaseSampler | None = None,
                 deadline: float | None = None, patience: float = 30,
                 constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None, constraints: Sequence[str] = (),
                 **options: Any) -> None:
        if prior and not search_space:
            raise ValueError("a prior needs search_space, the parameters that it was learned for")
        if constraints_func and (not constraints or isinstance(constraints, str) or len(set(constraints)) < len(constraints)):
            raise ValueError("constraints_func needs constraints, a list of different names of what it returns")
        self._constraints_func, self._names = constraints_func, list(constraints)
        if self._names:
            options["outputs"] = [{"name": name, "at_most": 0, "optional": True} for name in self._names]
        self._url, self._token, self._patience = url.rstrip("/") + "/v1", token, patience
        self._space, self._prior, self._seed, self._options = search_space, prior, seed, options
        self._random = independent_sampler or RandomSampler(seed)
        self._ask = {"n": 1} if deadline is None else {"n": 1, "deadline_seconds": deadline}
        self._known: dict[str, set[int]] = {}  # trials told to each study of the service

    def reseed_rng(self) -> None:
        self._random.reseed_rng()

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> Space:
        space = self._space or intersection_search_space(study.get_trials(deepcopy=False))
        return {name: space[name] for name in sorted(space) if not space[name].single()}

    def sample_independent(self, study: optuna.Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        self._raise_error_if_multi_objective(study)
        return self._random.sample_independent(study, trial, name, distribution)

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: Space) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        run = self._open(study, search_space)
        for t in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)):
            if t.number not in self._known[run]:
                self._report(run, search_space, t, t.state, t.values)
                self._known[run].add(t.number)
        try:
            (asked,) = self._post(f"studies/{run}/ask", self._ask, f"ask-{trial.number}")["trials"]
        except ServiceError as e:
            if e.code != "no_candidates":
                raise
            # Every point of the space has been tried.
            return {name: self._random.sample_independent(study, trial, name, d) for name, d in search_space.items()}
        params = {name: _value(d, x) for (name, d), x in zip(search_space.items(), asked["x"])}
        study._storage.set_trial_system_attr(trial._trial_id, ATTR, {"study": run, "trial": asked["id"], "params": params, "number": trial.number})
        if "resumes" in asked and trial.system_attrs.get("fixed_params", {}).items() <= params.items():
            for t in study.get_trials(deepcopy=False):
                of = _asked(t)
                if of.get("study") == run and of["trial"] == asked["resumes"]:
                    study._storage.set_trial_user_attr(trial._trial_id, RESUMES, t.number)
                    trial.user_attrs[RESUMES] = t.number  # the objective reads what Optuna read before it asked
        return params

    def after_trial(self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        if self._constraints_func:
            _process_constraints_after_trial(self._constraints_func, study, trial, state)
            trial = study._storage.get_trial(trial._trial_id)
            self._outputs(trial)  # before anything is told, as it may be an error
        if asked := _asked(trial):
            if self._report(asked["study"], {}, trial, state, values):
                self._known.setdefault(asked["study"], set()).add(trial.number)

    def learn(self, name: str, studies: Iterable[optuna.Study], *, pruned_values: bool = False) -> None:
        """Makes the prior of a name in the service from past studies, from any
        storage: their completed trials in search_space, and as failures those that
        failed or were pruned. pruned_values takes pruned trials with the last value
        that they reported instead, where it compares with that of a whole trial. What
        completed trials reported before their ends, and those that they resume, is sent as
        their curves, of which CmboPruner's verdicts are made."""
        space, tasks, directions = self.infer_relative_search_space(None, None), [], set()  # type: ignore[arg-type]
        for study in studies:
            task: dict[str, Any] = {"id": study.study_name, "x": [], "y": [], "failed": []}
            curves: list[dict[str, Any]] = []
            columns: dict[str, list[float | None]] = {output: [] for output in self._names}
            trials = study.get_trials(deepcopy=False)
            resumed = {t.user_attrs.get(RESUMES) for t in trials}  # parts of other trials
            for t in trials:
                row = _row(space, t.params)
                if row is None or not t.state.is_finished() or t.number in resumed:
                    continue
                y = t.value
                if t.state == TrialState.PRUNED:
                    y = t.intermediate_values.get(t.last_step) if pruned_values and t.last_step is not None else None
                if t.state == TrialState.FAIL or y is None or not self._takes(y):
                    task["failed"].append(row)
                else:
                    task["x"].append(row)
                    task["y"].append(y)
                    # The last value of a pruned trial is not what it would have ended with.
                    shown = _curve(trials, t) if t.state == TrialState.COMPLETE else {}
                    curve = [(step, v) for step, v in sorted(shown.items()) if self._takes(v)]
                    curves.append({"steps": [step for step, _ in curve], "values": [v for _, v in curve]})
                    outputs = self._outputs(t)
                    for output, column in columns.items():
                        column.append(outputs.get(output))
            columns = {output: column for output, column in columns.items() if any(v is not None for v in column)}
            if columns:
                task["outputs"] = columns
            if any(curve["steps"] for curve in curves):
                task["curves"] = curves
            if task["x"] or task["failed"]:
                tasks.append(task)
                directions.add(study.direction.name)
        if len(directions) != 1:
            raise ValueError(f"the studies' trials in search_space have {len(directions)} directions, not one")
        self._post("priors", {"name": name, "space": _describe(space), "tasks": tasks, "minimize": directions == {"MINIMIZE"},
                              "positive_values": bool(self._options.get("positive_values"))})

    def _open(self, study: optuna.Study, space: Space) -> str:
        """Returns the service's study for a study and a space; makes it if need be."""
        # In one order, whatever that of the arguments: the service tells bodies apart by their bytes.
        body = {"space": _describe(space), "options": {**dict(sorted(self._options.items())), "minimize": study.direction.name == "MINIMIZE"}}
        if self._prior:
            body["prior"] = self._prior
        digest = hashlib.sha256(json.dumps([study.study_name, body], sort_keys=True).encode()).hexdigest()
        body["options"]["seed"] = int(digest[:12], 16) if self._seed is None else self._seed
        run = "optuna-" + re.sub("[^a-z0-9]+", "-", study.study_name.lower())[:36].strip("-") + "-" + digest[-16:]
        if run not in self._known:
            self._post("studies", {"id": run, **body})
            self._known.setdefault(run, set())
        return run

    def _outputs(self, trial: FrozenTrial) -> dict[str, float]:
        """The values of the constraints of a trial that has them, by name."""
        values = trial.system_attrs.get(_CONSTRAINTS_KEY) if self._names else None
        if values is None:
            return {}
        if len(values) != len(self._names):
            raise ValueError(f"trial {trial.number} has {len(values)} constraints, and {len(self._names)} are named: {self._names}")
        # Beyond what the service takes a constraint is as broken, or holds as well, at the limit.
        return {name: min(max(float(v), -MOST), MOST) for name, v in zip(self._names, values)}

    def _takes(self, y: float) -> bool:
        """Whether the service takes a value; it refuses others for good."""
        return abs(y) <= MOST and (y > 0 or not self._options.get("positive_values"))

    def _report(self, run: str, space: Space, trial: FrozenTrial, state: TrialState, values: Any) -> bool:
        """Tells what became of a trial, and whether it was evaluated as proposed.
        Requests have keys: repeated ones, also those of another process, are done
        once."""
        y = values[0] if state == TrialState.COMPLETE and self._takes(values[0]) else None
        outputs = self._outputs(trial)
        asked = _asked(trial)
        if asked.get("study") == run:
            taken = _taken(trial, asked["params"])
            body: dict[str, Any] = {"outputs": outputs} if outputs and taken else {}
            end = ("fail" if y is None else "tell") if taken else "cancel"
            if end == "tell":
                body["y"] = y
            if end == "fail" and state == TrialState.PRUNED and trial.system_attrs.get(REPORTED):
                end, body = "stop", {}
            try:
                self._post(f"studies/{run}/trials/{asked['trial']}/{end}", body, f"{end}-{trial.number}")
                if taken:
                    return True
            except ServiceError as e:
                if e.code != "trial_closed":  # its deadline has passed; the value counts all the same
                    raise
        row = _row(space, trial.params)
        if row and y is not None:
            self._post(f"studies/{run}/observe", {"x": row, "y": y} | ({"outputs": outputs} if outputs else {}), f"observe-{trial.number}")
        return False

    def _post(self, path: str, body: dict[str, Any], key: str = "") -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        request = urllib.request.Request(f"{self._url}/{path}", json.dumps(body, allow_nan=False).encode(), headers)
        give_up = time.monotonic() + self._patience
        while True:
            try:
                try:
                    with urllib.request.urlopen(request, timeout=120) as reply:
                        return json.load(reply)
                except urllib.error.HTTPError as e:
                    refusal = _refusal(e)
                    if e.code != 503 or refusal.code in LASTING or time.monotonic() > give_up:
                        raise refusal from e
            # The service is away, also while an answer or a refusal is read: it may be starting again.
            except (OSError, http.client.HTTPException, json.JSONDecodeError, UnicodeDecodeError) as e:
                if time.monotonic() > give_up:
                    raise ServiceError("unreachable", f"{self._url}: {e}") from e
            time.sleep(0.2)


class CmboPruner(BasePruner):
    """Prunes what the service says is not worth going on with.

    sampler is the study's. The latest value that a trial has reported is sent to the
    service, which compares it with the curves of past studies (see learn) and of this one;
    without past ones it takes five completed trials before it prunes. A trial that it has
    values of and that is pruned is told as stopped: its curve, not a failure, teaches.
    Values are in the unit and the direction of the objective's, and a step means the
    same in all trials and past studies. A value that is not a number, or beyond ±1e150, or not
    above 0 with positive_values, prunes its trial, which fails. Trials that the service did
    not propose, or that took other values than it did, go on.
    """

    def __init__(self, sampler: CmboSampler) -> None:
        self._sampler = sampler

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        asked, step = _asked(trial), trial.last_step
        if not asked or step is None or not _taken(trial, asked["params"]):
            return False
        y = trial.intermediate_values[step]
        if not self._sampler._takes(y):
            if trial.system_attrs.get(REPORTED):  # it is a failure, whatever it has shown
                study._storage.set_trial_system_attr(trial._trial_id, REPORTED, False)
            return True
        path = f"studies/{asked['study']}/trials/{asked['trial']}/report"
        try:
            verdict = self._sampler._post(path, {"step": step, "y": y}, f"report-{trial.number}-{step}")
        except ServiceError as e:
            if e.code == "trial_closed":  # its deadline has passed
                return False
            raise
        if not trial.system_attrs.get(REPORTED):
            study._storage.set_trial_system_attr(trial._trial_id, REPORTED, True)
        return verdict["stop"]


def _asked(trial: FrozenTrial) -> dict[str, Any]:
    """What the service proposed for a trial, empty for nothing. One that Optuna's
    RetryHeartbeatStaleTrialCallback made of a failed trial has a copy of that one's attributes."""
    asked = trial.system_attrs.get(ATTR, {})
    return asked if asked.get("number", trial.number) == trial.number else {}


def _taken(trial: FrozenTrial, proposed: dict[str, Any]) -> bool:
    """Whether a trial has what was proposed. The objective may have taken other values, such as
    enqueued ones; a parameter that it has not suggested, or never does, has the proposed value
    unless it is enqueued with another."""
    params = trial.system_attrs.get("fixed_params", {}) | trial.params
    return all(params.get(name, v) == v for name, v in proposed.items())


def _refusal(e: urllib.error.HTTPError) -> ServiceError:
    try:
        detail = json.load(e)["error"]
        hint = "; a study of this name was begun before, give this one another" if detail["code"] == "key_reused" else ""
        return ServiceError(detail["code"], detail["message"] + hint)
    except (ValueError, KeyError, TypeError):  # something between here and the service
        return ServiceError(str(e.code), str(e.reason))


def _curve(trials: Sequence[FrozenTrial], trial: FrozenTrial) -> dict[int, float]:
    """What a trial reported, and those whose checkpoints it goes on from did before."""
    shown = trial.intermediate_values
    while (number := trial.user_attrs.get(RESUMES)) is not None:
        trial, first = trials[number], min(shown, default=math.inf)
        shown = {step: v for step, v in trial.intermediate_values.items() if step < first} | shown
    return shown


def _kind(d: BaseDistribution) -> str:
    """The kind of the service's parameter for a distribution. Choices that are
    numbers are an ordinal, which keeps their order, True and False a boolean: as
    cmbo's history.Optuna infers them from a journal."""
    if not isinstance(d, CategoricalDistribution):
        return ("log" if d.log else "") + ("float" if isinstance(d, FloatDistribution) else "int")  # type: ignore[attr-defined]
    if len(d.choices) == 2 and all(isinstance(c, bool) for c in d.choices) and d.choices[0] != d.choices[1]:
        return "bool"
    numbers = all(isinstance(c, (int, float)) and not isinstance(c, bool) and abs(c) < 2**53 for c in d.choices)
    return "ordinal" if numbers and len(set(d.choices)) == len(d.choices) else "categorical"


def _names(d: CategoricalDistribution) -> list[str]:
    """Choices by name: text as it is, other values as JSON."""
    names = [c if isinstance(c, str) else json.dumps(c) for c in d.choices]
    return names if len(set(names)) == len(names) else [f"{i}: {c!r}" for i, c in enumerate(d.choices)]


def _describe(space: Space) -> dict[str, Any]:
    """The space in the service's words."""
    params = []
    for name, d in space.items():
        p: dict[str, Any] = {"name": name, "kind": _kind(d)}
        if isinstance(d, CategoricalDistribution):
            if p["kind"] == "ordinal":
                p["values"] = sorted(d.choices)
            elif p["kind"] == "categorical":
                p["choices"] = _names(d)
        else:
            assert isinstance(d, (FloatDistribution, IntDistribution))
            p |= {"lo": d.low, "hi": d.high}
            if d.step and not d.log:
                p["step"] = d.step
        params.append(p)
    return {"params": params}


def _row(space: Space, params: dict[str, Any]) -> list[float] | None:
    """The point of a trial, None if it does not lie in the space."""
    row = []
    for name, d in space.items():
        try:
            x = d.to_internal_repr(params[name])
        except (KeyError, ValueError):
            return None
        if not d._contains(x):
            return None
        # A choice that is a number or a truth value stands for itself.
        row.append(float(d.to_external_repr(x)) if _kind(d) in ("ordinal", "bool") else x)
    return row


def _value(d: BaseDistribution, x: float) -> Any:
    kind = _kind(d)
    if kind in ("ordinal", "bool"):
        assert isinstance(d, CategoricalDistribution)
        return next(c for c in d.choices if c == x)
    if kind == "categorical":
        return d.to_external_repr(x)
    return (float if isinstance(d, FloatDistribution) else int)(x)
