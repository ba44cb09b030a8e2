"""Prints what Optuna's SuccessiveHalvingPruner makes of random curves, as JSON: the losses
that trials reported, from step 1 on, each up to where it was stopped or to its end.

    python examples/hpob/testdata/optuna_rules.py > examples/hpob/testdata/optuna_rules.json
"""

import json
import random

import optuna

optuna.logging.disable_default_handler()
STEPS, TRIALS = 70, 120
r = random.Random(1)
study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=4))
curves = []
for _ in range(TRIALS):
    trial = study.ask()
    end, curve, stopped = r.gauss(0, 1), [], False
    for step in range(1, STEPS + 1):
        loss = round(end + 3 / step + r.gauss(0, 0.3), 1)  # so that some are equal
        curve.append(loss)
        trial.report(loss, step)
        if stopped := trial.should_prune():
            break
    if stopped:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    else:
        study.tell(trial, curve[-1])
    curves.append({"losses": curve, "stopped": stopped})
print(json.dumps({"optuna": optuna.__version__, "steps": STEPS, "curves": curves}))
