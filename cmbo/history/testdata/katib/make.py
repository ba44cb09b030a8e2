"""Makes trials.json, a list of Katib's objects as kubectl get --output json writes it.

    python -m venv venv && venv/bin/pip install kubeflow-katib==0.19.0 kubernetes==32.0.1
    venv/bin/python make.py

The objects are those of Katib's SDK, whose models write the names of the fields.
Conditions and metrics are what Katib's controller makes of a trial that ends in each
way that it can (pkg/controller.v1beta1/trial, release 0.19): what is true no longer is
kept with the status False, and of a metric the first, the least and the greatest value
are text. expected.json tells the same without those fields.
"""

import json
import random

from kubeflow import katib as k
from kubernetes import client

RNG = random.Random(1)
TIME = "2026-03-0%dT10:%02d:%02dZ"


def condition(kind, status, at):
    return k.V1beta1TrialCondition(type=kind, status=status, reason="Trial" + kind, message="Trial is " + kind.lower(),
                                   last_update_time=at, last_transition_time=at)


def ended(kind, at):
    """The conditions of a trial that was created, has run, and has ended so."""
    out = [condition("Created", "True", at)]
    if kind != "Created":
        out.append(condition("Running", "True" if kind == "Running" else "False", at))
    if kind not in ("Created", "Running"):
        out.append(condition(kind, "True", at))
    return out


def trial(namespace, experiment, i, objective, values, kind, logged):
    """logged has the values of each metric in the order of their time, "unavailable" for
    one that was not reported."""
    metrics = []
    for name, log in logged.items():
        numbers = [v for v in log if v != "unavailable"]
        metrics.append(k.V1beta1Metric(name=name, latest=log[-1], min=min(numbers, key=float, default="unavailable"),
                                       max=max(numbers, key=float, default="unavailable")))
    at = TIME % (1 + i // 60, i % 60, 7 * i % 60)
    name = f"{experiment}-{RNG.getrandbits(32):08x}"
    return k.V1beta1Trial(
        api_version="kubeflow.org/v1beta1", kind="Trial",
        metadata=client.V1ObjectMeta(
            name=name, namespace=namespace, uid=f"00000000-0000-4000-8000-{i:012d}", resource_version=str(1000 + i), generation=1,
            creation_timestamp=at, finalizers=["clean-metrics-in-db"], labels={"katib.kubeflow.org/experiment": experiment},
            owner_references=[client.V1OwnerReference(api_version="kubeflow.org/v1beta1", kind="Experiment", name=experiment,
                                                      uid="11111111-1111-4111-8111-111111111111", controller=True, block_owner_deletion=True)],
            managed_fields=[client.V1ManagedFieldsEntry(manager="katib-controller", operation="Update", fields_type="FieldsV1",
                                                        fields_v1={"f:status": {".": {}, "f:observation": {".": {}, "f:metrics": {}}}})]),
        spec=k.V1beta1TrialSpec(
            objective=objective, primary_container_name="training-container", metrics_collector=k.V1beta1MetricsCollectorSpec(
                collector=k.V1beta1CollectorSpec(kind="StdOut")),
            failure_condition='status.conditions.#(type=="Failed")#|#(status=="True")#',
            parameter_assignments=[k.V1beta1ParameterAssignment(name=n, value=v) for n, v in values.items()],
            run_spec={"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {"spec": {"containers": [
                {"name": "training-container", "command": ["python3", "/train.py", "--kind=Trial", "--note=\"[{"]}]}}}}),
        status=k.V1beta1TrialStatus(start_time=at, completion_time=None if kind in ("Created", "Running") else at,
                                    conditions=ended(kind, at), observation=k.V1beta1Observation(metrics=metrics) if metrics else None))


def parameters():
    return {"lr": f"{10 ** RNG.uniform(-4, 0):.6f}", "depth": str(RNG.randint(1, 12)), "drop": f"{RNG.uniform(0, 0.5):.4f}",
            "units": RNG.choice(["16", "32", "64"]), "kind": RNG.choice(["relu", "tanh"]), "seed": "1"}


def strategies(**by_name):
    return [k.V1beta1MetricStrategy(name=n, value=v) for n, v in by_name.items()]


LOSS = k.V1beta1ObjectiveSpec(type="minimize", goal=0.001, objective_metric_name="loss", additional_metric_names=["accuracy"],
                              metric_strategies=strategies(loss="min", accuracy="min"))
LATEST = k.V1beta1ObjectiveSpec(type="minimize", objective_metric_name="loss", metric_strategies=strategies(loss="latest"))
ACCURACY = k.V1beta1ObjectiveSpec(type="maximize", objective_metric_name="accuracy")

items, expected = [], []


def add(namespace, experiment, objective, kind, logged, becomes=None):
    values = parameters()
    items.append(trial(namespace, experiment, len(items), objective, values, kind, logged))
    if becomes is not None:
        expected.append({"experiment": f"{namespace}/{experiment}", "parameters": values, "outcome": becomes})


for i in range(8):
    log = [f"{RNG.uniform(0.1, 2):.4f}" for _ in range(3)]
    add("team-a", "mnist", LOSS, "Succeeded", {"loss": log, "accuracy": ["0.5", "0.9"]}, min(map(float, log)))
add("team-a", "mnist", LOSS, "EarlyStopped", {"loss": ["2.5", "2.25", "2.75"]}, 2.25)
add("team-a", "mnist", LOSS, "EarlyStopped", {"loss": ["unavailable"]})
add("team-a", "mnist", LOSS, "Failed", {}, "failed")
add("team-a", "mnist", LOSS, "Failed", {"loss": ["0.0001"]}, "failed")
add("team-a", "mnist", LOSS, "MetricsUnavailable", {"loss": ["unavailable"]}, "failed")
add("team-a", "mnist", LOSS, "Succeeded", {"loss": ["NaN"]}, "failed")
add("team-a", "mnist", LOSS, "Succeeded", {"accuracy": ["0.5"]}, "failed")
for kind in ("Created", "Running", "Killed"):
    add("team-a", "mnist", LOSS, kind, {"loss": ["0.5"]} if kind == "Killed" else {})
for i in range(4):
    log = [f"{RNG.uniform(0.1, 2):.4f}" for _ in range(3)]
    add("team-b", "mnist", LATEST, "Succeeded", {"loss": log}, float(log[-1]))
for i in range(3):
    log = [f"{RNG.uniform(0.5, 1):.4f}" for _ in range(2)]
    add("team-b", "cifar", ACCURACY, "Succeeded", {"accuracy": log}, max(map(float, log)))

api = client.ApiClient()
objects = api.sanitize_for_serialization(items)
# kubectl get experiments,trials lists both kinds.
experiment = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment", "metadata": {"name": "mnist", "namespace": "team-a"},
              "spec": {"parameters": [{"name": "lr", "parameterType": "double", "feasibleSpace": {"min": "0.0001", "max": "1"}}]}}
# As kubectl writes it: names sorted, indented by four.
with open("trials.json", "w") as f:
    json.dump({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [experiment, *objects]}, f, indent=4, sort_keys=True)
    f.write("\n")
with open("expected.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(e) for e in expected) + "\n]\n")
