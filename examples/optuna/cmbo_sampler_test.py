"""Tests of the sampler: Optuna's own contract for samplers, and what it does
not ask. .ci/optuna installs what they need and runs them: CMBO_SERVICE is the
program of examples/service.

Of Optuna's test cases, MultiObjectiveSamplerTestCase does not apply: the service
has one objective, and SingleOnlySamplerTestCase holds the sampler to saying so.
All others are run.
"""

import json
import math
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase
from optuna.trial import TrialState

from cmbo_sampler import ATTR, RESUMES, CmboPruner, CmboSampler, ServiceError

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Service:
    def __init__(self, directory, *flags):
        self.directory, self.flags, self.address = directory, flags, "127.0.0.1:0"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [os.environ["CMBO_SERVICE"], "-dir", str(self.directory), "-addr", self.address, "-max-studies", "5000", *self.flags],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[2]
        self.address = self.url.removeprefix("http://")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    s = Service(tmp_path_factory.mktemp("studies"))
    yield s
    s.kill()


class TestContract(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self, service):
        return lambda: CmboSampler(service.url, seed=1)


SPACE = {
    "rate": FloatDistribution(1e-5, 1, log=True),
    "depth": IntDistribution(1, 12),
    "drop": FloatDistribution(0, 0.5, step=0.1),
    "kind": CategoricalDistribution(["relu", None, True, 3]),
}


def objective(trial, shift=0.0):
    rate = trial.suggest_float("rate", 1e-5, 1, log=True)
    depth = trial.suggest_int("depth", 1, 12)
    drop = trial.suggest_float("drop", 0, 0.5, step=0.1)
    kind = trial.suggest_categorical("kind", ["relu", None, True, 3])
    return (math.log10(rate) + 2 + shift) ** 2 + 0.05 * (depth - 8) ** 2 + drop + (kind != "relu")


class Recorder(CmboSampler):
    """A sampler that keeps what it sends."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.sent = []

    def _post(self, path, body, key=""):
        self.sent.append(body)
        return super()._post(path, body, key)


def rows(study):
    return [t.params for t in study.trials]


def proposed(study):
    return [t for t in study.trials if ATTR in t.system_attrs]


def get(service, run, path=""):
    with urllib.request.urlopen(f"{service.url}/v1/studies/{run}{path}") as r:
        return json.load(r)


def post(service, path, body):
    request = urllib.request.Request(f"{service.url}/v1/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as r:
        return json.load(r)


def test_the_service_learns_what_became_of_trials(service):
    study = optuna.create_study(sampler=CmboSampler(service.url, search_space=SPACE, seed=1), direction="minimize")

    def f(trial):
        value = objective(trial)
        if trial.number == 2:
            raise RuntimeError
        if trial.number == 3:
            raise optuna.TrialPruned
        return float("nan") if trial.number == 4 else value

    study.enqueue_trial({"rate": 0.01, "depth": 8, "drop": 0.3, "kind": None})  # no model is asked
    study.enqueue_trial({"depth": 1, "kind": 3})  # the model's values are not taken
    study.optimize(f, n_trials=9, catch=RuntimeError)
    assert [t.number for t in proposed(study)] == list(range(1, 9))  # from the first, as the space is known
    run = study.trials[1].system_attrs[ATTR]["study"]
    about = get(service, run)
    assert about["minimize"] and about["trials"] == {"open": 0, "told": 4, "failed": 3, "cancelled": 1}
    assert about["observations"] == 6  # with the enqueued ones
    assert about["best"]["y"] == study.best_value
    told = {t["id"]: t for t in get(service, run, "/trials")["trials"]}
    for t in study.trials[5:]:
        assert told[t.system_attrs[ATTR]["trial"]]["y"] == t.value


def test_it_tunes(service):
    study = optuna.create_study(sampler=CmboSampler(service.url, seed=3))
    study.optimize(objective, n_trials=25)
    assert len(proposed(study)) == 24  # all but the first, of which the space is learned
    assert study.best_value < 0.5


def test_past_studies_help_from_the_first_trial(service):
    past = []
    for k in range(6):
        study = optuna.create_study(study_name=f"past {k}", sampler=optuna.samplers.RandomSampler(seed=k))
        study.optimize(lambda t: 5 * k + objective(t, 0.1 * k), n_trials=25)
        past.append(study)
    learner = CmboSampler(service.url, search_space=dict(reversed(SPACE.items())))  # the order does not count
    learner.learn("past", past)
    values = []
    for prior in ("past", None):
        best = []
        for seed in range(3):
            study = optuna.create_study(sampler=CmboSampler(service.url, search_space=SPACE, prior=prior, seed=seed))
            study.optimize(objective, n_trials=4)
            best.append(study.best_value)
        values.append(sum(best))
    assert values[0] < 0.5 * values[1], values


def test_past_failures_and_pruned_trials_are_learned_from(service, tmp_path):
    """A third of the space fails: after such a past, less of it is proposed."""
    def f(trial):
        value = objective(trial)
        if trial.params["depth"] > 8:
            raise RuntimeError
        if trial.params["depth"] == 8 and trial.number % 2:
            trial.report(value + 1, 1)
            trial.report(value, 3)
            raise optuna.TrialPruned
        return value

    past = []
    for k in range(4):
        study = optuna.create_study(study_name=f"failing {k}", sampler=optuna.samplers.RandomSampler(seed=k))
        study.optimize(f, n_trials=40, catch=RuntimeError)
        past.append(study)
    for pruned_values in (False, True):
        learner = Recorder(service.url, search_space=SPACE)
        learner.learn(f"failing-{pruned_values}".lower(), past, pruned_values=pruned_values)
        for study, task in zip(past, learner.sent[0]["tasks"]):
            states = [t.state for t in study.trials]
            pruned = states.count(TrialState.PRUNED)
            assert pruned > 0 and states.count(TrialState.FAIL) > 0
            assert len(task["failed"]) == states.count(TrialState.FAIL) + (0 if pruned_values else pruned)
            assert len(task["x"]) == len(task["y"]) == len(states) - len(task["failed"])
            values = [t.intermediate_values[3] if t.state == TrialState.PRUNED else t.value
                      for t in study.trials if t.state == TrialState.COMPLETE or pruned_values and t.state == TrialState.PRUNED]
            assert sorted(task["y"]) == sorted(values)
    failed = []
    for prior in ("failing-false", None):
        n = 0
        for seed in range(4):
            study = optuna.create_study(sampler=CmboSampler(service.url, search_space=SPACE, prior=prior, seed=seed))
            study.optimize(f, n_trials=6, catch=RuntimeError)
            n += sum(t.state == TrialState.FAIL for t in study.trials)
        failed.append(n)
    assert failed[0] < failed[1], failed


def test_kill_9_of_the_service_changes_nothing(tmp_path, service):
    def study(url):
        return optuna.create_study(study_name="killed", sampler=CmboSampler(url, search_space=SPACE, seed=5))

    want = study(service.url)
    want.optimize(objective, n_trials=12)
    own = Service(tmp_path)
    got = study(own.url)

    def f(trial):
        value = objective(trial)
        if trial.number % 3 == 1:  # it is away when the value is told, and comes back
            own.kill()
            threading.Timer(0.3, own.start).start()
        return value

    got.optimize(f, n_trials=12)
    own.kill()
    assert rows(got) == rows(want)


def test_a_value_that_comes_after_the_deadline_counts(service):
    study = optuna.create_study(sampler=CmboSampler(service.url, search_space=SPACE, deadline=0.05))
    for _ in range(2):
        trial = study.ask()
        value = objective(trial)
        run = study.trials[-1].system_attrs[ATTR]["study"]
        end = time.monotonic() + 60
        while get(service, run)["trials"]["open"]:
            assert time.monotonic() < end
            time.sleep(0.05)
        study.tell(trial, value)
    study.ask(SPACE)
    about = get(service, run)
    assert about["observations"] == 2 and about["trials"]["told"] == 0 and about["best"]["y"] == study.best_value


def test_an_answer_that_is_lost_counts_once(service, monkeypatch):
    plain, seen = urllib.request.urlopen, set()

    def lossy(request, **kwargs):
        answer = plain(request, **kwargs)
        if id(request) not in seen:
            seen.add(id(request))
            kept.append(request)
            raise ConnectionResetError
        return answer

    kept = []  # so that no other request gets the same id
    studies = []
    for name in ("whole", "lossy"):
        studies.append(optuna.create_study(study_name=name, sampler=CmboSampler(service.url, search_space=SPACE, seed=7)))
        studies[-1].optimize(objective, n_trials=4)
        monkeypatch.setattr(urllib.request, "urlopen", lossy)
    assert len(kept) == 9
    assert rows(studies[0]) == rows(studies[1])
    run = studies[1].trials[0].system_attrs[ATTR]["study"]
    monkeypatch.undo()
    assert get(service, run)["trials"] == {"open": 0, "told": 4, "failed": 0, "cancelled": 0}


def test_an_answer_that_breaks_off_is_asked_for_again():
    full = b'HTTP/1.1 200 OK\r\n\r\n{"trials": []}'
    refusal = b'HTTP/1.1 409 Conflict\r\n\r\n{"error": {"code": "no_candidates", "message": "none is left"}}'
    broken = [
        b'HTTP/1.1 20',
        b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"trials": [',
        b'HTTP/1.1 200 OK\r\n\r\n{"trials": [',
        b'HTTP/1.1 200 OK\r\n\r\n{"trials": "\xc3',
        b'HTTP/1.1 409 Conflict\r\nContent-Length: 500\r\n\r\n{"error": {"co',
    ]
    answers = [*broken, full, *broken[1:], refusal, *broken[1:]]
    left = len(broken[1:])
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while answers:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as request:
                while (line := request.readline()).strip():
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split()[1])
                request.read(length)
                connection.sendall(answers.pop(0))

    threading.Thread(target=serve, daemon=True).start()
    url = "http://%s:%d" % listener.getsockname()
    sampler = CmboSampler(url)
    assert sampler._post("studies/s/ask", {"n": 1}, "ask-1") == {"trials": []}
    with pytest.raises(ServiceError, match="no_candidates: none is left"):
        sampler._post("studies/s/ask", {"n": 1}, "ask-2")
    assert len(answers) == left
    sampler = CmboSampler(url, patience=-1)
    for n in range(left, 0, -1):
        with pytest.raises(ServiceError, match="unreachable"):
            sampler._post("studies/s/ask", {"n": 1}, f"ask-{n}")
        assert len(answers) == n - 1
    listener.close()


def test_a_damaged_study_is_told_at_once(tmp_path):
    own = Service(tmp_path)
    study = optuna.create_study(study_name="damaged", sampler=CmboSampler(own.url, search_space=SPACE))
    study.optimize(objective, n_trials=2)
    own.kill()
    (log,) = (tmp_path / "studies").iterdir()
    log.write_text("{}\n")
    own.start()
    begin = time.monotonic()
    for sampler in study.sampler, CmboSampler(own.url, search_space=SPACE):  # which has opened the study, and which does
        study.sampler = sampler
        with pytest.raises(ServiceError, match="^damaged: "):
            study.optimize(objective, n_trials=1)
    assert time.monotonic() - begin < 30  # its patience
    own.kill()


def test_processes_share_a_study(service):
    """Two samplers, as two processes have them, on one storage."""
    storage = optuna.storages.InMemoryStorage()
    first = optuna.create_study(storage=storage, study_name="shared", sampler=CmboSampler(service.url))
    second = optuna.load_study(storage=storage, study_name="shared", sampler=CmboSampler(service.url))
    for _ in range(6):
        for s in (first, second):
            s.optimize(objective, n_trials=1)
    runs = {t.system_attrs[ATTR]["study"] for t in proposed(first)}
    assert len(runs) == 1
    about = get(service, runs.pop())
    assert about["observations"] == 12 and about["trials"]["told"] == 11


def budgeted(cost):
    """An objective that falls with x, which costs speed times as much, and its constraint."""

    def f(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_user_attr("seconds", cost * math.exp(2 * x))
        return 3 - 2 * x + (y - 0.3) ** 2

    return f


def over(limit):
    return lambda trial: (trial.user_attrs["seconds"] - limit,)


def test_constraints_are_outputs_of_the_service(service):
    name = "Sekunden über 3"  # any name will do
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    past = []
    for i, cost in enumerate((0.5, 1, 2)):
        s = optuna.create_study(study_name=f"limited-past-{i}", sampler=CmboSampler(
            service.url, search_space=space, seed=i, constraints_func=over(3), constraints=[name], initial=8))
        s.optimize(budgeted(cost), n_trials=12)
        past.append(s)
    options = dict(search_space=space, seed=1, constraints_func=over(3), constraints=[name])
    CmboSampler(service.url, **options).learn("limited", past)
    found = {}
    for prior in ("limited", None):
        study = optuna.create_study(study_name=f"limited-{prior}", sampler=CmboSampler(service.url, prior=prior, **options))
        study.enqueue_trial({"x": 0.9, "y": 0.9})
        f = budgeted(1.2)

        def pruned(trial):
            value = f(trial)
            if trial.number == 2:
                raise optuna.TrialPruned
            return value

        study.optimize(pruned, n_trials=9)
        found[prior] = study
        run = study.trials[1].system_attrs[ATTR]["study"]
        about = get(service, run)
        assert about["options"]["outputs"] == [{"name": name, "at_most": 0, "optional": True}]
        assert about["best"]["y"] == study.best_value and about["best"]["outputs"][name] <= 0
        told = get(service, run, "/trials")["trials"]
        assert [t["outputs"][name] for t in told] == [t.system_attrs["constraints"][0] for t in proposed(study)]
        assert told[1]["status"] == "failed" and about["observations"] == 8
    best = 3 - math.log(3 / 1.2)
    assert found["limited"].best_value - best < 0.1

    def beyond(study):
        return sum(t.system_attrs["constraints"][0] > 0 for t in study.trials)

    assert beyond(found["limited"]) == 1 < beyond(found[None])  # that of the point that was enqueued


def trained(difficulty, epochs=12, broken=None):
    """An objective that reports its loss epoch by epoch."""

    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        for epoch in range(1, epochs + 1):
            loss = difficulty + 3 * (x - 0.5) ** 2 + 2 * math.exp(-epoch / (4 + x))
            if epoch == epochs:
                return loss
            trial.report(math.nan if trial.number == broken and epoch == 4 else loss, epoch)
            if trial.should_prune():
                assert trial.should_prune()  # asked again, it says the same
                raise optuna.TrialPruned

    return f


@pytest.fixture(scope="session")
def curves(service):
    """The space of studies that reported, and of the prior that was learned of them."""
    past = []
    for i, difficulty in enumerate((0.2, 0.5, 0.9)):
        study = optuna.create_study(study_name=f"curves {i}", sampler=optuna.samplers.RandomSampler(seed=i), pruner=optuna.pruners.NopPruner())
        study.optimize(trained(difficulty), n_trials=12)
        past.append(study)
    space = {"x": FloatDistribution(0, 1)}
    learner = Recorder(service.url, search_space=space)
    learner.learn("curves", past)
    for study, task in zip(past, learner.sent[0]["tasks"]):
        assert [dict(zip(c["steps"], c["values"])) for c in task["curves"]] == [t.intermediate_values for t in study.trials]
    return space


def test_the_pruner_stops_what_past_curves_say_is_hopeless(service, curves):
    sampler = CmboSampler(service.url, search_space=curves, prior="curves", seed=1)
    study = optuna.create_study(study_name="pruned", sampler=sampler, pruner=CmboPruner(sampler))
    for x in (0.5, 0.45):  # not proposed by the service: never pruned
        study.enqueue_trial({"x": x})
    study.optimize(trained(0.7), n_trials=2)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 2
    other = study.ask()  # takes another value than was proposed
    other.suggest_float("x", -3, -2)
    for epoch in range(1, 12):
        other.report(100, epoch)
        assert not other.should_prune()
    study.tell(other, 100)
    run = study.trials[2].system_attrs[ATTR]["study"]
    assert get(service, run)["trials"]["cancelled"] == 1
    for x in (0.0, 1.0):  # far from the best
        post(service, f"studies/{run}/enqueue", {"x": [x]})
    study.optimize(trained(0.7), n_trials=2)
    assert [t.state for t in study.trials[3:]] == [TrialState.PRUNED] * 2
    study.optimize(trained(0.7, broken=6), n_trials=3)
    assert math.isnan(study.trials[6].intermediate_values[4]) and study.trials[6].state == TrialState.PRUNED
    told = {t["id"]: t for t in get(service, run, "/trials")["trials"]}
    for t in study.trials[3:]:
        got = told[t.system_attrs[ATTR]["trial"]]
        want = {TrialState.COMPLETE: "told", TrialState.PRUNED: "stopped"}[t.state] if t.number != 6 else "failed"
        shown = {step: v for step, v in t.intermediate_values.items() if not math.isnan(v)}
        assert got["status"] == want, (t, got)
        assert dict(zip(got["curve"]["steps"], got["curve"]["values"])) == shown
    about = get(service, run)
    assert about["best"]["y"] == study.best_value
    assert about["observations"] == sum(t.state == TrialState.COMPLETE for t in study.trials if t != study.trials[2])  # which is not in the space


def test_pruned_trials_are_resumed(service, tmp_path):
    """A trial goes on from the checkpoint of another, and of all of them one evaluation is learned."""
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    sampler = Recorder(service.url, search_space=space, seed=1, checkpoints=True)
    study = optuna.create_study(study_name="resumed", sampler=sampler, pruner=CmboPruner(sampler), storage=f"sqlite:///{tmp_path}/db")
    last, told = {}, []  # the epoch of each checkpoint, and what objectives were told

    def f(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        told.append(trial.user_attrs.get(RESUMES))
        for epoch in range(1 + last.get(told[-1], 0), 12):
            trial.report(loss := (x - 0.5) ** 2 + y + 2 * math.exp(-epoch / 4), epoch)
            if trial.should_prune() or epoch in (4, 8):
                last[trial.number] = epoch
                raise optuna.TrialPruned
        return loss

    def resume(t):
        post(service, f"studies/{run}/enqueue", {"x": [t.params["x"], t.params["y"]]})

    study.optimize(f, n_trials=1)
    run, first = study.trials[0].system_attrs[ATTR]["study"], study.trials[0].params
    for _ in range(2):
        resume(study.trials[0])
        study.optimize(f, n_trials=1)
    assert told == [None, 0, 1] and [t.params for t in study.trials] == [first] * 3
    assert [t["resumes"] for t in get(service, run, "/trials")["trials"][1:]] == [1, 2]
    assert [t.user_attrs for t in study.trials] == [{}, {RESUMES: 0}, {RESUMES: 1}]
    sampler.learn("resumed", [study])
    (task,) = sampler.sent[-1]["tasks"]
    shown = {step: v for t in study.trials for step, v in t.intermediate_values.items()}
    assert task["x"] == [list(first.values())] and task["y"] == [study.trials[2].value] and task["failed"] == []
    assert task["curves"] == [{"steps": list(range(1, 12)), "values": list(shown.values())}]
    # What takes another value than was proposed goes on from nothing.
    study.optimize(f, n_trials=1)
    resume(study.trials[3])
    study.enqueue_trial({"x": 0.25})
    study.optimize(f, n_trials=1)
    assert get(service, run, "/trials")["trials"][4]["resumes"] == 4
    assert told[3:] == [None, None] and study.trials[4].user_attrs == {}


def test_the_pruner_after_kill_9_and_after_a_deadline(tmp_path, service, curves):
    own = Service(tmp_path)
    sampler = CmboSampler(own.url, search_space=curves, seed=2)
    study = optuna.create_study(study_name="pruner-killed", sampler=sampler, pruner=CmboPruner(sampler))

    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        for step in (1, 2):
            trial.report(x + 1 / step, step)
            own.kill()
            threading.Timer(0.2, own.start).start()
            assert not trial.should_prune()
        return x

    study.optimize(f, n_trials=2)
    run = study.trials[0].system_attrs[ATTR]["study"]
    for t, got in zip(study.trials, get(own, run, "/trials")["trials"]):
        assert got["status"] == "told" and got["curve"]["steps"] == [1, 2] and got["y"] == t.value
    own.kill()
    sampler = CmboSampler(service.url, search_space=curves, seed=2, deadline=0.05)
    study = optuna.create_study(study_name="pruner-late", sampler=sampler, pruner=CmboPruner(sampler))
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    run = study.trials[0].system_attrs[ATTR]["study"]
    end = time.monotonic() + 60
    while get(service, run)["trials"]["open"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    trial.report(1, 1)
    assert not trial.should_prune()
    study.tell(trial, 1)
    # Without the sampler's trials there is nothing to say.
    plain = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1), pruner=CmboPruner(sampler))
    trial = plain.ask()
    trial.report(1, 1)
    assert not trial.should_prune()


def test_trials_of_dead_processes_are_tried_again(service):
    sampler = CmboSampler(service.url, search_space=SPACE, seed=1)
    study = optuna.create_study(study_name="again", sampler=sampler, pruner=CmboPruner(sampler))

    def watched(trial):
        y = objective(trial)
        trial.report(y + 1, 0)
        if trial.should_prune():
            raise optuna.TrialPruned
        return y

    dead = study.ask()
    watched(dead)
    study._storage.set_trial_state_values(dead._trial_id, TrialState.FAIL)  # as Optuna does once no heartbeat comes
    optuna.storages.RetryHeartbeatStaleTrialCallback()(study, study.trials[0])
    study.optimize(watched, n_trials=3)
    assert [t.state for t in study.trials] == [TrialState.FAIL] + 3 * [TrialState.COMPLETE]
    assert study.trials[1].params == study.trials[0].params
    s = get(service, proposed(study)[0].system_attrs[ATTR]["study"])
    assert (s["trials"]["failed"], s["trials"]["told"], s["observations"]) == (1, 2, 3)


def test_constraints_that_are_wrong(service):
    for names in ((), "seconds", ["a", "a"]):
        with pytest.raises(ValueError, match="list of different names"):
            CmboSampler(service.url, constraints_func=over(3), constraints=names)
    study = optuna.create_study(study_name="constraints-wrong", sampler=CmboSampler(
        service.url, search_space={"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}, constraints_func=over(3), constraints=["a", "b"]))
    with pytest.raises(ValueError, match="trial 0 has 1 constraints, and 2 are named"):
        study.optimize(budgeted(1), n_trials=1)
    huge = optuna.create_study(study_name="constraints-huge", sampler=CmboSampler(
        service.url, search_space={"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}, constraints_func=lambda t: [math.inf], constraints=["a"]))
    huge.optimize(budgeted(1), n_trials=2)
    run = huge.trials[0].system_attrs[ATTR]["study"]
    assert get(service, run, "/trials")["trials"][0]["outputs"] == {"a": 1e150} and get(service, run)["best"] is None


def test_a_small_space_used_up(service):
    study = optuna.create_study(sampler=CmboSampler(service.url, search_space={"x": IntDistribution(0, 4)}))
    study.optimize(lambda t: t.suggest_int("x", 0, 4), n_trials=8)
    assert sorted(t.params["x"] for t in study.trials[:5]) == [0, 1, 2, 3, 4]
    assert len(study.trials) == 8 and len(proposed(study)) == 5


def test_choices_that_look_alike(service):
    choices = ["1", 1, 1.5, None, "None"]
    space = {"c": CategoricalDistribution(choices)}
    study = optuna.create_study(sampler=CmboSampler(service.url, search_space=space))
    study.optimize(lambda t: float(choices.index(t.suggest_categorical("c", choices))), n_trials=5)
    got = [t.params["c"] for t in study.trials]
    assert sorted(map(repr, got)) == sorted(map(repr, choices))


@pytest.mark.parametrize("choices, kind", [
    ([64, 16, 32], "ordinal"), ([0.5, 1e-5, 2], "ordinal"), ([True, False], "bool"), ([False, True], "bool"),
    ([None, 16, 32], "categorical"), ([True, 1.5], "categorical"), (["16", 32], "categorical"), ([1], None)])
def test_choices_by_kind(service, choices, kind):
    """What Optuna gets back are its own choices, and numbers keep their order."""
    space = {"c": CategoricalDistribution(choices), "x": FloatDistribution(0, 1)}
    study = optuna.create_study(sampler=CmboSampler(service.url, search_space=space))
    study.optimize(lambda t: choices.index(t.suggest_categorical("c", choices)) + t.suggest_float("x", 0, 1), n_trials=6)
    run = study.trials[0].system_attrs[ATTR]["study"]
    params = {p["name"]: p for p in get(service, run)["space"]["params"]}
    for t in study.trials:
        (c,) = [c for c in choices if c is t.params["c"] or c == t.params["c"] and type(c) is type(t.params["c"])]
        assert type(c) is type(t.params["c"])
    if kind is None:  # a single choice is none
        assert "c" not in params
        return
    assert params["c"]["kind"] == kind
    if kind == "ordinal":
        assert params["c"]["values"] == sorted(choices)
    if kind == "categorical":
        assert params["c"]["choices"] == [c if isinstance(c, str) else json.dumps(c) for c in choices]
    assert len({t.params["c"] for t in study.trials}) > 1
    told = {t["id"]: t["y"] for t in get(service, run, "/trials")["trials"]}
    assert sorted(told.values()) == sorted(t.value for t in study.trials)


def test_a_value_beyond_the_service_s_counts_as_failed(service):
    study = optuna.create_study(sampler=CmboSampler(service.url, search_space=SPACE))
    study.optimize(lambda t: objective(t) + 1.7e308 * (t.number == 1), n_trials=4)
    trials = get(service, study.trials[0].system_attrs[ATTR]["study"])["trials"]
    assert (trials["told"], trials["failed"]) == (3, 1)
    CmboSampler(service.url, search_space=SPACE).learn("penalised", [study])


def test_parameters_that_were_not_suggested_count_as_proposed(service):
    """Most of the depths crash before the second parameter, and some depths have no use for it."""
    space = {"depth": IntDistribution(1, 12), "rate": FloatDistribution(1e-5, 1, log=True)}

    def f(trial):
        depth = trial.suggest_int("depth", 1, 12)
        if depth > 4:
            raise MemoryError
        if depth == 4:
            raise optuna.TrialPruned
        if depth == 3:
            return 0.5
        return depth + trial.suggest_float("rate", 1e-5, 1, log=True)

    study = optuna.create_study(sampler=CmboSampler(service.url, search_space=space, seed=3))
    trial = study.ask()
    trial.suggest_int("depth", 1, 12)
    study.tell(trial, state=TrialState.FAIL)
    run = study.trials[0].system_attrs[ATTR]["study"]
    for depth in (5, 4, 3):
        post(service, f"studies/{run}/enqueue", {"x": [depth, 0.1]})
    study.optimize(f, n_trials=12, catch=MemoryError)
    told = {t["id"]: t for t in get(service, run, "/trials")["trials"]}
    want = {TrialState.COMPLETE: "told", TrialState.FAIL: "failed", TrialState.PRUNED: "failed"}
    for t in proposed(study):
        got = told[t.system_attrs[ATTR]["trial"]]
        assert got["status"] == want[t.state] and got.get("y") == t.value
    assert [t.state for t in study.trials[:4]] == [TrialState.FAIL, TrialState.FAIL, TrialState.PRUNED, TrialState.COMPLETE]
    points = [tuple(t.system_attrs[ATTR]["params"].items()) for t in study.trials]
    assert len(set(points)) == len(points) == 13  # what has failed does not come back
    # One that would have been another's is nobody's.
    study.enqueue_trial({"rate": 0.03})
    post(service, f"studies/{run}/enqueue", {"x": [12, 0.1]})
    study.optimize(f, n_trials=1, catch=MemoryError)
    assert get(service, run)["trials"]["cancelled"] == 1


def test_values_that_are_not_positive_count_as_failed(service):
    space = {"x": FloatDistribution(0, 1)}
    task = {"id": "past", "x": [[0.1], [0.4], [0.9]], "y": [3, 0.5, 7]}
    post(service, "priors", {"name": "positive", "space": {"params": [{"name": "x", "kind": "float", "lo": 0, "hi": 1}]},
                             "tasks": [task], "minimize": True, "positive_values": True})

    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.report(-1.0 if trial.number == 3 else 2 + x, 1)
        if trial.should_prune():
            raise optuna.TrialPruned
        trial.report(0.0 if trial.number == 4 else 1 + x, 2)
        if trial.should_prune():
            raise optuna.TrialPruned
        return {2: 0.0, 5: -1.0}.get(trial.number, x + 0.1)

    past = optuna.create_study(study_name="past of positive values")
    for x, y in ((0.1, 3), (0.4, 0.5), (0.6, 0.0), (0.9, 7)):
        past.add_trial(optuna.trial.create_trial(params={"x": x}, distributions=space, value=y, intermediate_values={1: 2 * y}))
    CmboSampler(service.url, search_space=space, positive_values=True).learn("positive-2", [past])  # the prior for one that is like it
    for prior in (None, "positive", "positive-2"):
        sampler = CmboSampler(service.url, search_space=space, prior=prior, seed=1, positive_values=True)
        study = optuna.create_study(study_name=f"positive {prior}", sampler=sampler, pruner=CmboPruner(sampler))
        for x, y in ((0.5, 0.6), (0.7, 0.0)):  # not of the service: the first is observed, the second is nothing
            study.add_trial(optuna.trial.create_trial(params={"x": x}, distributions=space, value=y))
        study.optimize(f, n_trials=6)
        run = proposed(study)[0].system_attrs[ATTR]["study"]
        assert [study.trials[i].value for i in (2, 5)] == [0, -1]
        assert [t.state for t in study.trials[3:5]] == [TrialState.PRUNED] * 2
        told = {t["id"]: t for t in get(service, run, "/trials")["trials"]}
        status = [told[t.system_attrs[ATTR]["trial"]]["status"] for t in proposed(study)]
        assert status == ["failed"] * 4 + ["told"] * 2
        assert get(service, run)["observations"] == 3


def test_the_order_of_options_does_not_matter(service):
    runs = set()
    for options in ({"initial": 2, "acquisition": "EI"}, {"acquisition": "EI", "initial": 2}):
        sampler = CmboSampler(service.url, search_space=SPACE, **options)
        runs.add(sampler._open(optuna.create_study(study_name="order", sampler=sampler), SPACE))
    assert len(runs) == 1


def test_what_goes_wrong_is_said(tmp_path, service):
    with pytest.raises(ValueError, match="search_space"):
        CmboSampler(service.url, prior="past")
    study = optuna.create_study(sampler=CmboSampler(service.url, search_space=SPACE, prior="nowhere"))
    with pytest.raises(ServiceError, match="nowhere"):
        study.optimize(objective, n_trials=1)
    study = optuna.create_study(sampler=CmboSampler("http://127.0.0.1:9", search_space=SPACE, patience=0))
    with pytest.raises(ServiceError, match="unreachable"):
        study.optimize(objective, n_trials=1)
    for shift in (0, 1):  # begun anew in memory, under the name of the first
        study = optuna.create_study(study_name="twice", sampler=CmboSampler(service.url, search_space=SPACE))
        if shift:
            with pytest.raises(ServiceError, match="study of this name"):
                study.optimize(lambda t: objective(t, shift), n_trials=1)
        else:
            study.optimize(objective, n_trials=1)
    with pytest.raises(ValueError, match="directions"):
        CmboSampler(service.url, search_space=SPACE).learn("none", [])
    (tmp_path / "token").write_text("a token is needed here".replace(" ", "-"))
    guarded = Service(tmp_path / "guarded", "-token-file", str(tmp_path / "token"))
    for token, ok in ((None, False), ("a-token-is-needed-here", True)):
        study = optuna.create_study(sampler=CmboSampler(guarded.url, search_space=SPACE, token=token))
        if ok:
            study.optimize(objective, n_trials=2)
        else:
            with pytest.raises(ServiceError):
                study.optimize(objective, n_trials=1)
    guarded.kill()
