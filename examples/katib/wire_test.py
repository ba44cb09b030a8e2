"""Tests of the suggestion service over the wire, with the stubs of Katib's SDK.

.ci/katib installs what they need and runs them: KATIB_SERVICE is the program,
KATIB_DESCRIPTORS holds the descriptors of internal/api/suggestion.proto.
"""

import math
import os
import random
import signal
import subprocess
import sys
import types
from concurrent import futures

import grpc
import pytest
import yaml
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

# The SDK's package imports a Kubernetes client; its stubs alone do not need it.
import kubeflow

package = types.ModuleType("kubeflow.katib")
package.__path__ = [os.path.join(p, "katib") for p in kubeflow.__path__]
sys.modules["kubeflow.katib"] = package
import kubeflow.katib.katib_api_pb2 as api  # noqa: E402
import kubeflow.katib.katib_api_pb2_grpc as api_grpc  # noqa: E402

Status = api.TrialStatus.TrialConditionType
OK, INVALID = grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT


class Service:
    """The program, which can be killed and started again."""

    def __init__(self, *flags):
        self.flags = flags
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [os.environ["KATIB_SERVICE"], "-addr", "127.0.0.1:0", *self.flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().split()[-1]
        self.channel = grpc.insecure_channel(self.address)
        self.stub = api_grpc.SuggestionStub(self.channel)
        self.stopping = api_grpc.EarlyStoppingStub(self.channel)

    def kill(self, how=signal.SIGKILL):
        self.channel.close()
        self.process.send_signal(how)
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        return code

    def validate(self, spec):
        request = api.ValidateAlgorithmSettingsRequest(experiment=api.Experiment(name="test", spec=spec))
        return code_of(lambda: self.stub.ValidateAlgorithmSettings(request, timeout=60))

    def suggest(self, **fields):
        return self.stub.GetSuggestions(api.GetSuggestionsRequest(**fields), timeout=60)


def code_of(call):
    try:
        call()
    except grpc.RpcError as e:
        return e.code(), e.details()
    return OK, ""


@pytest.fixture(scope="module")
def service():
    s = Service()
    yield s
    s.kill()


def parameter(name, kind, **space):
    return api.ParameterSpec(name=name, parameter_type=kind, feasible_space=api.FeasibleSpace(**space))


def spec(parameters, settings=None, objective=api.MINIMIZE, algorithm="cmbo", **fields):
    return api.ExperimentSpec(
        parameter_specs=api.ExperimentSpec.ParameterSpecs(parameters=parameters),
        objective=api.ObjectiveSpec(type=objective, objective_metric_name="loss"),
        algorithm=api.AlgorithmSpec(algorithm_name=algorithm, algorithm_settings=[
            api.AlgorithmSetting(name=k, value=v) for k, v in (settings or {}).items()]),
        **fields)


def values(assignments):
    return {a.name: a.value for a in assignments}


class Controller:
    """Katib's side of an experiment: names trials after they were suggested,
    keeps the settings of replies, sends all trials each time."""

    def __init__(self, service, experiment_spec, name="experiment", echo=True, seed=1):
        self.service, self.name, self.echo = service, name, echo
        self.spec = api.ExperimentSpec()
        self.spec.CopyFrom(experiment_spec)
        self.settings, self.trials, self.suggested = {}, [], 0
        self.rng = random.Random(seed)

    def request(self, n):
        e = api.Experiment(name=self.name, spec=self.spec)
        if self.echo:
            for k, v in self.settings.items():
                e.spec.algorithm.algorithm_settings.add(name=k, value=v)
        sent = [t for t in self.trials if t.status.condition != Status.METRICSUNAVAILABLE]
        self.rng.shuffle(sent)
        return dict(experiment=e, trials=sent, current_request_number=n, total_request_number=self.suggested + n)

    def suggest(self, n):
        return self.take(self.service.suggest(**self.request(n)), n)

    def take(self, reply, n):
        assert len(reply.parameter_assignments) == n
        self.suggested += n
        for s in reply.algorithm.algorithm_settings:
            self.settings[s.name] = s.value
        made = []
        for a in reply.parameter_assignments:
            t = api.Trial(name=f"{self.name}-{self.rng.getrandbits(40):08x}")
            t.spec.objective.CopyFrom(self.spec.objective)
            t.spec.parameter_assignments.assignments.extend(a.assignments)
            t.status.condition = Status.RUNNING
            self.trials.append(t)
            made.append(t)
        return made

    @staticmethod
    def end(trial, value=None, condition=Status.SUCCEEDED):
        trial.status.condition = condition
        if value is not None:
            trial.status.observation.metrics.add(name="other", value="17")
            trial.status.observation.metrics.add(name="loss", value=str(value))

    def rows(self):
        return [tuple(a.value for a in t.spec.parameter_assignments.assignments) for t in self.trials]


MIXED = [
    parameter("rate", api.DOUBLE, min="1e-5", max="1", distribution=api.LOG_UNIFORM),
    parameter("depth", api.INT, min="1", max="12"),
    parameter("units", api.DISCRETE, list=["64", "16", "32"]),
    parameter("kind", api.CATEGORICAL, list=["relu", "tanh"]),
]


def loss(trial):
    v = values(trial.spec.parameter_assignments.assignments)
    return ((math.log10(float(v["rate"])) + 2) ** 2 + 0.05 * (int(v["depth"]) - 8) ** 2
            + abs(math.log2(int(v["units"])) - 5) + (v["kind"] == "tanh"))


# --- the wire ---------------------------------------------------------------


def test_messages_are_those_of_katib():
    files = descriptor_pb2.FileDescriptorSet.FromString(open(os.environ["KATIB_DESCRIPTORS"], "rb").read())
    (ours,) = files.file
    assert ours.package == api.DESCRIPTOR.package
    compared = 0

    def message(m, theirs):
        nonlocal compared
        for f in m.field:
            other = theirs.fields_by_name[f.name]
            is_list = f.label == f.LABEL_REPEATED
            listed = other.is_repeated if hasattr(other, "is_repeated") else other.label == other.LABEL_REPEATED
            assert (f.number, f.type, is_list) == (other.number, other.type, listed), f"{m.name}.{f.name}"
            named = other.message_type or other.enum_type
            assert f.type_name == ("." + named.full_name if named else ""), f"{m.name}.{f.name}"
            compared += 1
        for e in m.enum_type:
            enum(e, theirs.enum_types_by_name[e.name])
        for nested in m.nested_type:
            message(nested, theirs.nested_types_by_name[nested.name])

    def enum(e, theirs):
        assert {v.name: v.number for v in e.value} == {v.name: v.number for v in theirs.values}

    for m in ours.message_type:
        message(m, api.DESCRIPTOR.message_types_by_name[m.name])
    for e in ours.enum_type:
        enum(e, api.DESCRIPTOR.enum_types_by_name[e.name])
    methods = {}
    for own in ours.service:
        theirs = api.DESCRIPTOR.services_by_name[own.name].methods_by_name
        for m in own.method:
            assert (m.input_type[1:], m.output_type[1:]) == (theirs[m.name].input_type.full_name, theirs[m.name].output_type.full_name)
        methods[own.name] = {m.name for m in own.method} == set(theirs)
    # Of the DB manager one method is called.
    assert methods == {"Suggestion": True, "EarlyStopping": True, "DBManager": False}
    assert compared > 60


@pytest.mark.parametrize("name", ["", "api.v1.beta1.Suggestion", "manager.v1beta1.Suggestion", "api.v1.beta1.EarlyStopping"])
def test_health(service, name):
    stub = health_pb2_grpc.HealthStub(service.channel)
    reply = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
    assert reply.status == health_pb2.HealthCheckResponse.SERVING


def test_sigterm_ends_the_service():
    s = Service()
    assert s.kill(signal.SIGTERM) == 0


# --- the cases of Katib's own tests of its Optuna and Goptuna services -------


def grid(lo, hi, step):
    return {round(lo + k * step, 9) for k in range(int((hi - lo) / step + 1e-9) + 1)}


ALL_KINDS = [
    (parameter("p1", api.INT, max="5", min="1"), lambda v: int(v) in range(1, 6)),
    (parameter("p2", api.CATEGORICAL, list=["cat1", "cat2", "cat3"]), lambda v: v in ("cat1", "cat2", "cat3")),
    (parameter("p3", api.DISCRETE, list=["3", "2", "6"]), lambda v: v in ("3", "2", "6")),
    (parameter("p4", api.DOUBLE, max="5", min="1", step="1"), lambda v: float(v) in grid(1, 5, 1)),
    (parameter("p5", api.INT, max="5", min="1", step="2", distribution=api.UNIFORM), lambda v: int(v) in (1, 3, 5)),
    (parameter("p6", api.INT, max="5", min="1", distribution=api.UNIFORM), lambda v: int(v) in range(1, 6)),
    (parameter("p7", api.INT, max="5", min="1", step="2", distribution=api.LOG_UNIFORM), lambda v: int(v) in (1, 3, 5)),
    (parameter("p8", api.INT, max="5", min="1", distribution=api.LOG_UNIFORM), lambda v: int(v) in range(1, 6)),
    (parameter("p9", api.DOUBLE, max="11", min="1", step="2.5", distribution=api.UNIFORM), lambda v: float(v) in grid(1, 11, 2.5)),
    (parameter("p10", api.DOUBLE, max="11", min="1", step="2.5", distribution=api.LOG_UNIFORM), lambda v: float(v) in grid(1, 11, 2.5)),
    (parameter("p11", api.DOUBLE, max="5", min="1", distribution=api.UNIFORM), lambda v: 1 <= float(v) <= 5),
    (parameter("p12", api.DOUBLE, max="5", min="1", distribution=api.LOG_UNIFORM), lambda v: 1 <= float(v) <= 5),
    (parameter("p13", api.DOUBLE, max="0.1", min="0.1"), lambda v: v == "0.1"),
    (parameter("p14", api.DOUBLE, max="1", min="0", step="0.1"), lambda v: float(v) in grid(0, 1, .1) and len(v) <= 3),
]


def within(assignments, kinds):
    got = values(assignments)
    assert set(got) == {p.name for p, _ in kinds}
    for p, allowed in kinds:
        assert allowed(got[p.name]), f"{p.name} is {got[p.name]}"


@pytest.mark.parametrize("settings", [
    {}, {"random_state": "71"}, {"random_state": "71", "n_initial_points": "0"},
    {"acquisition": "EI", "random_state": "71"}, {"acquisition": "UCB(2)", "n_initial_points": "20"}, {"acquisition": "Thompson"},
    {"base_estimator": "GP", "n_initial_points": "10", "acq_func": "gp_hedge", "acq_optimizer": "auto", "random_state": "10"}])
def test_two_and_then_two_more(service, settings):
    """Every kind of parameter; the trials of the first reply, named and
    measured in a metric that the trial itself names, in the second request;
    without the settings of the first reply."""
    e = api.Experiment(name="test", spec=spec([p for p, _ in ALL_KINDS], settings, api.MAXIMIZE))
    e.spec.objective.ClearField("objective_metric_name")
    e.spec.objective.goal = 0.9
    first = service.suggest(experiment=e, current_request_number=2)
    assert len(first.parameter_assignments) == 2
    trials = []
    for name, metrics, a in zip(("test-asfjh", "test-234hs"), (("435", "5643"), ("123", "3028")), first.parameter_assignments):
        within(a.assignments, ALL_KINDS)
        t = api.Trial(name=name)
        t.spec.objective.CopyFrom(api.ObjectiveSpec(type=api.MAXIMIZE, objective_metric_name="metric-2", goal=0.9))
        t.spec.parameter_assignments.assignments.extend(a.assignments)
        t.status.condition = Status.SUCCEEDED
        for m, v in zip(("metric-1", "metric-2"), metrics):
            t.status.observation.metrics.add(name=m, value=v)
        trials.append(t)
    second = service.suggest(experiment=e, trials=trials, current_request_number=2)
    assert len(second.parameter_assignments) == 2
    rows = {tuple(sorted(values(a.assignments).items())) for r in (first, second) for a in r.parameter_assignments}
    assert len(rows) == 4
    for a in second.parameter_assignments:
        within(a.assignments, ALL_KINDS)


def test_negative_ranges_and_minimisation(service):
    kinds = [
        (parameter("param-1", api.INT, max="10", min="-10"), lambda v: -10 <= int(v) <= 10),
        (parameter("param-2", api.CATEGORICAL, list=["cat1", "cat2", "cat3"]), lambda v: v.startswith("cat")),
        (parameter("param-3", api.DISCRETE, list=["3", "2", "6"]), lambda v: v in ("3", "2", "6")),
        (parameter("param-4", api.DOUBLE, max="5.5", min="-1.5"), lambda v: -1.5 <= float(v) <= 5.5),
    ]
    e = api.Experiment(name="test", spec=spec([p for p, _ in kinds], {"random_state": "10"}))
    reply = service.suggest(experiment=e, current_request_number=2)
    assert len(reply.parameter_assignments) == 2
    for a in reply.parameter_assignments:
        within(a.assignments, kinds)


X = [parameter("x", api.INT, max="5", min="1")]


@pytest.mark.parametrize("settings, parameters, fields, want", [
    ({"random_state": "10", "acquisition": "PI", "n_initial_points": "3"}, X, {}, OK),
    ({"random_state": "1"}, [], {}, OK),  # Katib sees to it that there are parameters
    ({}, X, {"max_trial_count": 23, "parallel_trial_count": 3}, OK),
    ({}, X, {"algorithm": "invalid"}, INVALID),
    ({"invalid": "5"}, X, {}, INVALID),
    ({"n_startup_trials": "5"}, X, {}, INVALID),
    ({"random_state": "-1"}, X, {}, INVALID),
    ({"random_state": "1.5"}, X, {}, INVALID),
    ({"random_state": ""}, X, {}, INVALID),
    ({"n_initial_points": "-1"}, X, {}, INVALID),
    ({"acquisition": "TPE"}, X, {}, INVALID),
    ({"acq_func": "EIps"}, X, {}, INVALID),
    ({"base_estimator": "RF"}, X, {}, INVALID),
    ({"acquisition": "UCB(-1)"}, X, {}, INVALID),
    ({"cmbo_state": "AAAA"}, X, {}, INVALID),
    ({"prior": "somewhere.prior"}, X, {}, INVALID),
    ({"history": "somewhere.csv"}, X, {}, INVALID),
    ({"prior": "http://127.0.0.1:1/p"}, X, {}, INVALID),
    ({"prior": "../../etc/passwd"}, X, {}, INVALID),
    ({}, X, {"objective": api.UNKNOWN}, INVALID),
    ({}, X, {"nas_config": api.NasConfig(graph_config=api.GraphConfig(num_layers=1))}, INVALID),
    ({}, X + X, {}, INVALID),
    ({}, [parameter("x", api.UNKNOWN_TYPE, max="5", min="1")], {}, INVALID),
    ({}, [parameter("", api.INT, max="5", min="1")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="one", min="1")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="5")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="5.5", min="1")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="1", min="5")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="1e30", min="5")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="5", min="1", step="0")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="5", min="1", step="0.5")], {}, INVALID),
    ({}, [parameter("x", api.INT, max="5", min="0", distribution=api.LOG_UNIFORM)], {}, INVALID),
    ({}, [parameter("x", api.DOUBLE, max="inf", min="1")], {}, INVALID),
    ({}, [parameter("x", api.DOUBLE, max="5", min="nan")], {}, INVALID),
    ({}, [parameter("x", api.DOUBLE, max="5", min="0", distribution=api.LOG_UNIFORM)], {}, INVALID),
    ({}, [parameter("x", api.DOUBLE, max="5", min="0", step="-1")], {}, INVALID),
    ({}, [parameter("x", api.DOUBLE, max="5", min="1e-9", step="1e-9", distribution=api.LOG_UNIFORM)], {}, INVALID),
    ({}, [parameter("x", api.DISCRETE)], {}, INVALID),
    ({}, [parameter("x", api.DISCRETE, list=["1", "two"])], {}, INVALID),
    ({}, [parameter("x", api.DISCRETE, list=["1", "1.0"])], {}, INVALID),
    ({}, [parameter("x", api.CATEGORICAL)], {}, INVALID),
    ({}, [parameter("x", api.CATEGORICAL, list=["a", "a"])], {}, INVALID),
    *(({}, [parameter("x", kind, max="9", min="1", distribution=d)], {}, INVALID)
      for kind in (api.INT, api.DOUBLE) for d in (api.NORMAL, api.LOG_NORMAL)),
])
def test_validate(service, settings, parameters, fields, want):
    code, details = service.validate(spec(parameters, settings, **fields))
    assert code == want, details
    if want == INVALID:
        assert details
        if settings != {"cmbo_state": "AAAA"}:  # what a reply sets is refused of a person alone
            e = api.Experiment(name="test", spec=spec(parameters, settings, **fields))
            assert code_of(lambda: service.suggest(experiment=e, current_request_number=1))[0] == INVALID


def test_requests_that_make_no_sense(service):
    for e, n in [(api.Experiment(), 1), (api.Experiment(name="x", spec=spec([])), 1), (api.Experiment(name="x", spec=spec(X)), -1)]:
        code, details = code_of(lambda: service.suggest(experiment=e, current_request_number=n))
        assert code == INVALID and details
    assert len(service.suggest(experiment=api.Experiment(name="x", spec=spec(X)), current_request_number=0).parameter_assignments) == 0


# --- whole experiments -------------------------------------------------------


def test_200_trials_in_parallel_batches(service):
    """Batches of 1 to 10, answered late and out of order; of every 20 trials
    one fails, one is killed, one has no metric, one a metric that is no number,
    one loses its metrics, one ends early."""
    c = Controller(service, spec(MIXED, {"random_state": "3"}, max_trial_count=200, parallel_trial_count=10))
    running, ended, told = [], 0, 0
    while c.suggested < 200:
        room = 10 - len(running)
        running += c.suggest(min(room, 200 - c.suggested))
        c.rng.shuffle(running)
        for _ in range(c.rng.randint(1, len(running))):
            t, ended = running.pop(), ended + 1
            kind = ended % 20
            if kind == 3:
                c.end(t, condition=Status.FAILED)
            elif kind == 6:
                c.end(t, condition=Status.KILLED)
            elif kind == 9:
                c.end(t)
            elif kind == 12:
                c.end(t, "nan" if ended > 100 else "unavailable")
            elif kind == 15:
                c.end(t, condition=Status.METRICSUNAVAILABLE)
            else:
                c.end(t, loss(t), Status.EARLYSTOPPED if kind == 18 else Status.SUCCEEDED)
                told += 1
    rows = c.rows()
    assert len(rows) == 200 and told > 100
    killed = {r for r, t in zip(rows, c.trials) if t.status.condition == Status.KILLED}
    # Only what was killed may come again.
    again = [r for r in rows if rows.count(r) > 1]
    assert set(again) <= killed
    best = min(loss(t) for t in c.trials if t.status.observation.metrics[1:] and t.status.condition == Status.SUCCEEDED)
    uniform = sorted(loss_of_random(c.rng) for _ in range(2000))
    assert best < uniform[2], (best, uniform[:5])  # better than a thousand random ones


def loss_of_random(rng):
    t = api.Trial()
    for name, value in (("rate", 10 ** rng.uniform(-5, 0)), ("depth", rng.randint(1, 12)),
                        ("units", rng.choice([16, 32, 64])), ("kind", rng.choice(["relu", "tanh"]))):
        t.spec.parameter_assignments.assignments.add(name=name, value=str(value))
    return loss(t)


def drive(c, between=lambda: None):
    """Twelve requests for one to three trials, some of them answered late."""
    waiting = []
    for k in range(12):
        between()
        waiting += c.suggest(1 + k % 3)
        while len(waiting) > 2:
            t = waiting.pop(0)
            failed = len(c.trials) % 7 == 3
            c.end(t, None if failed else loss(t), Status.FAILED if failed else Status.SUCCEEDED)
    return c.rows()


@pytest.mark.parametrize("echo", [True, False])
def test_kill_9_between_any_two_requests_changes_nothing(service, tmp_path, echo):
    """With Katib, which brings settings back, and with a client that does not,
    for which there is a folder."""
    experiment = spec(MIXED, {"random_state": "5", "acquisition": "EI"})
    want = drive(Controller(service, experiment))
    killed = Service() if echo else Service("-states", str(tmp_path))

    def between():
        killed.kill()
        killed.start()

    got = drive(Controller(killed, experiment, echo=echo), between)
    killed.kill()
    assert got == want
    assert len(set(want)) == len(want)


def test_kill_9_amid_requests_changes_nothing(service):
    experiment = spec(MIXED, {"random_state": "6"})
    want = drive(Controller(service, experiment))
    s = Service()
    c = Controller(s, experiment)
    plain, rng, killed = c.suggest, random.Random(2), 0

    def suggest(n):
        nonlocal killed
        call = s.stub.GetSuggestions.future(api.GetSuggestionsRequest(**c.request(n)), timeout=60)
        try:
            call.result(timeout=rng.uniform(0, 0.03))
        except (grpc.FutureTimeoutError, grpc.RpcError):
            pass
        killed += not call.done()
        s.kill()
        s.start()
        return plain(n)  # the controller got nothing, and asks again

    c.suggest = suggest
    got = drive(c)
    s.kill()
    assert got == want
    assert killed > 0


def test_a_lost_reply_is_given_again(service):
    c = Controller(service, spec(MIXED), name="lost")
    first = service.suggest(**c.request(3))
    assert service.suggest(**c.request(3)) == first
    for t in c.take(first, 3):
        c.end(t, loss(t))
    second = service.suggest(**c.request(2))
    assert service.suggest(**c.request(2)) == second


def test_rows_not_seen_yet_are_not_handed_out_again(service):
    c = Controller(service, spec([parameter("x", api.INT, min="1", max="12")]), name="unseen")
    c.suggest(5)
    hidden, c.trials = c.trials, []  # Katib has not made the trials yet
    c.suggest(5)
    c.trials += hidden
    c.suggest(2)
    assert sorted(int(r[0]) for r in c.rows()) == list(range(1, 13))


def test_a_space_that_is_used_up_is_repeated(service):
    c = Controller(service, spec([parameter("x", api.INT, min="1", max="4")]), name="small")
    running = c.suggest(4)
    running += c.suggest(2)
    assert len(set(c.rows())) == 4
    for n in (1, 3, 3):
        running += c.suggest(n)
        for t in running[1:]:
            c.end(t, loss_x(t))
        del running[1:]
    counts = {x: c.rows().count((str(x),)) for x in range(1, 5)}
    assert sum(counts.values()) == 13 and max(counts.values()) - min(counts.values()) <= 1 and counts[3] == max(counts.values())


def test_what_was_killed_comes_again_and_what_failed_does_not(service):
    c = Controller(service, spec([parameter("x", api.INT, min="1", max="4")]), name="killed")
    made = c.suggest(4)
    conditions = [Status.SUCCEEDED, Status.KILLED, Status.FAILED, Status.SUCCEEDED]
    for t, condition in zip(made, conditions):
        c.end(t, loss_x(t) if condition == Status.SUCCEEDED else None, condition)
    (again,) = c.suggest(1)
    assert loss_x(again) == loss_x(made[1]) and c.rows()[4] == c.rows()[1]
    c.end(again, 0.5)
    (repeated,) = c.suggest(1)  # nothing else is left: not what failed
    assert c.rows()[5] != c.rows()[2]


def loss_x(t):
    return (int(values(t.spec.parameter_assignments.assignments)["x"]) - 3) ** 2


def test_a_space_of_one_point(service):
    c = Controller(service, spec([parameter("x", api.INT, min="7", max="7")]), name="one")
    for n in (3, 2):
        for k, t in enumerate(c.suggest(n)):
            c.end(t, k)
    c.suggest(1)
    assert c.rows() == [("7",)] * 6


def test_a_space_in_which_everything_fails(service):
    c = Controller(service, spec([parameter("x", api.INT, min="1", max="3")]), name="failing")
    for t, condition in zip(c.suggest(3), (Status.FAILED, Status.SUCCEEDED, Status.SUCCEEDED)):
        c.end(t, condition=condition)
    c.trials[2].status.observation.metrics.add(name="loss", value="nan")
    assert code_of(lambda: c.suggest(1))[0] == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_trials_of_a_lost_state_are_learned_again(service):
    """The state is of no use: values count, and no row is handed out twice."""
    for seed in range(6):
        c = Controller(service, spec([parameter("x", api.INT, min="1", max="9")], {"random_state": str(seed)}), name="anew")
        for k, t in enumerate(c.suggest(6)):
            if k < 5:
                c.end(t, None if k == 2 else loss_x(t), Status.FAILED if k == 2 else Status.SUCCEEDED)
        c.settings["cmbo_state"] = "bm9uc2Vuc2U="
        c.suggest(3)
        assert sorted(int(r[0]) for r in c.rows()) == list(range(1, 10))
        for t in c.trials:
            if t.status.condition == Status.RUNNING:
                c.end(t, loss_x(t))
        c.settings["cmbo_state"] = "bm9uc2Vuc2U="
        (repeated,) = c.suggest(1)  # the best one again, so the values were learned
        assert loss_x(repeated) == min(loss_x(t) for t in c.trials if t.status.condition == Status.SUCCEEDED)


def test_the_experiment_of_the_readme(service):
    """experiment.yaml, as Katib's controller turns it into messages."""
    here = os.path.dirname(__file__)
    with open(os.path.join(here, "experiment.yaml")) as f:
        e = yaml.safe_load(f)["spec"]
    with open(os.path.join(here, "katib-config.yaml")) as f:
        config = yaml.safe_load(f)["runtime"]["suggestions"][0]
    assert e["algorithm"]["algorithmName"] == config["algorithmName"]
    distributions = {None: api.DISTRIBUTION_UNSPECIFIED, "uniform": api.UNIFORM, "logUniform": api.LOG_UNIFORM}
    parameters = []
    for p in e["parameters"]:
        space = dict(p["feasibleSpace"])
        parameters.append(parameter(p["name"], api.ParameterType.Value(p["parameterType"].upper()),
                                    distribution=distributions[space.pop("distribution", None)], **space))
    settings = {s["name"]: s["value"] for s in e["algorithm"]["algorithmSettings"]}
    s = spec(parameters, settings, api.ObjectiveType.Value(e["objective"]["type"].upper()),
             max_trial_count=e["maxTrialCount"], parallel_trial_count=e["parallelTrialCount"])
    assert service.validate(s) == (OK, "")
    made = Controller(service, s, name="readme").suggest(e["parallelTrialCount"])
    template = e["trialTemplate"]
    for t in made:
        v = values(t.spec.parameter_assignments.assignments)
        assert {p["reference"] for p in template["trialParameters"]} == set(v)
        assert 1e-4 <= float(v["lr"]) <= 0.1 and v["batch"] in ("16", "32", "64", "128")
        assert round(float(v["momentum"]) * 20, 9) % 1 == 0 and len(v["momentum"]) <= 4
    (container,) = template["trialSpec"]["spec"]["template"]["spec"]["containers"]
    for p in template["trialParameters"]:
        assert sum("${trialParameters.%s}" % p["name"] in part for part in container["command"]) == 1


# --- early stopping -----------------------------------------------------------


class DBManager(api_grpc.DBManagerServicer):
    """Katib's, in memory."""

    def __init__(self):
        self.logs = {}
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        api_grpc.add_DBManagerServicer_to_server(self, self.server)
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def GetObservationLog(self, request, context):
        return api.GetObservationLogReply(observation_log=api.ObservationLog(metric_logs=[
            api.MetricLog(time_stamp="0001-01-01T00:00:00Z", metric=api.Metric(name=request.metric_name, value=v))
            for v in self.logs[request.trial_name]]))


@pytest.mark.parametrize("algorithm", ["cmbo", "random"])
def test_early_stopping_beside_the_suggestions(algorithm):
    """The service and its container for early stopping, which hands calls on;
    of an algorithm of others the suggestions are theirs, here random ones."""
    db = DBManager()
    s = Service("-db-manager", db.address)
    early = Service("-forward", s.address)
    settings = api.EarlyStoppingSpec(algorithm_name="cmbo", algorithm_settings=[
        api.EarlyStoppingSetting(name="min_trials_required", value="2"), api.EarlyStoppingSetting(name="start_step", value="3")])
    early.stopping.ValidateEarlyStoppingSettings(api.ValidateEarlyStoppingSettingsRequest(early_stopping=settings), timeout=20)
    bad = api.EarlyStoppingSpec(algorithm_name="medianstop")
    code, details = code_of(lambda: early.stopping.ValidateEarlyStoppingSettings(
        api.ValidateEarlyStoppingSettingsRequest(early_stopping=bad), timeout=20))
    assert code == INVALID and "medianstop" in details
    c = Controller(s, spec(MIXED, algorithm=algorithm, early_stopping=settings), name="stops")
    rng = random.Random(3)
    stopped, rules = 0, []
    for k in range(25):
        request = c.request(1)
        if algorithm == "cmbo":
            (t,) = c.suggest(1)
        else:
            (t,) = c.take(api.GetSuggestionsReply(parameter_assignments=[{"assignments": [
                {"name": "rate", "value": repr(10 ** rng.uniform(-5, 0))}, {"name": "depth", "value": str(rng.randint(1, 12))},
                {"name": "units", "value": rng.choice(["16", "32", "64"])}, {"name": "kind", "value": rng.choice(["relu", "tanh"])}]}]), 1)
        reply = early.stopping.GetEarlyStoppingRules(api.GetEarlyStoppingRulesRequest(
            experiment=request["experiment"], trials=request["trials"], db_manager_address=db.address), timeout=60)
        rules.append(list(reply.early_stopping_rules))
        end, condition, log = loss(t), Status.SUCCEEDED, []
        for epoch in range(1, 21):
            log.append(end + (1 - epoch / 20) * (5 + 0.2 * rng.gauss(0, 1)))
            if any(r.name == "loss" and r.comparison == api.GREATER and epoch == r.start_step >= 3 and min(log) > float(r.value)
                   for r in reply.early_stopping_rules):
                condition = Status.EARLYSTOPPED
                stopped += 1
                break
        db.logs[t.name] = [repr(v) for v in log]
        c.end(t, min(log), condition)
    assert not rules[0] and not rules[1] and all(len(r) <= 1 for r in rules)
    assert stopped >= 3
    code, details = code_of(lambda: early.stopping.SetTrialStatus(api.SetTrialStatusRequest(trial_name="a"), timeout=20))
    assert code == grpc.StatusCode.INTERNAL and "does not run in a cluster" in details
    early.kill()
    s.kill()
    db.server.stop(None)


# --- what is learned from the past -------------------------------------------


def past(path, shift=0.0):
    """Six tasks whose best rate is near 1e-2 and whose best depth is near 8."""
    rng = random.Random(4)
    with open(path, "w") as f:
        f.write("task,rate,depth,units,kind,value\n")
        for task in range(6):
            for _ in range(25):
                t = api.Trial()
                v = dict(rate=10 ** rng.uniform(-5, 0), depth=rng.randint(1, 12), units=rng.choice([16, 32, 64]), kind=rng.choice(["relu", "tanh"]))
                for k, x in v.items():
                    t.spec.parameter_assignments.assignments.add(name=k, value=str(x))
                y = 3 * task + (1 + 0.1 * task) * loss(t) + shift
                f.write(f"task {task},{v['rate']},{v['depth']},{v['units']},{v['kind']},{y}\n")


def test_a_history_is_learned_from(tmp_path):
    past(tmp_path / "past.csv")
    s = Service("-dir", str(tmp_path))
    plain, learned = [], []
    for seed in range(4):
        for settings, out in (({}, plain), ({"history": "past.csv"}, learned)):
            c = Controller(s, spec(MIXED, {"random_state": str(seed), **settings}), name=f"past-{seed}")
            assert s.validate(c.spec)[0] == OK
            for _ in range(4):
                for t in c.suggest(1):
                    c.end(t, loss(t))
            out.append(min(loss(t) for t in c.trials))
    for bad in ("none.csv", "past.txt", "../past.csv", "/etc/passwd"):
        code, details = s.validate(spec(MIXED, {"history": bad}))
        assert code == INVALID and bad in details
    assert s.validate(spec(X, {"history": "past.csv"}))[0] == INVALID  # it has no column x
    s.kill()
    assert sum(learned) < 0.5 * sum(plain), (learned, plain)
