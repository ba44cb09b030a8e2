"""The Python side of the comparison: answers one line of JSON with another, as
protocol.go describes. Everything runs on one thread; the environment is set by
who starts this. Inputs are read from files, made Fortran-ordered where LAPACK
wants it, so that no copies are hidden in the figures."""
import json
import os
import sys
import time
import traceback
import warnings

import numpy as np

import forms_linalg
import forms_gauss
from registry import FORMS

try:
    import forms_sklearn  # noqa: F401  (registers itself)
except ImportError:
    pass

warnings.filterwarnings("ignore")


class Inputs:
    def __init__(self, folder):
        with open(os.path.join(folder, "inputs.json")) as f:
            index = json.load(f)
        self.params = index["params"]
        self.arrays = {k: np.fromfile(os.path.join(folder, k + ".f64"), dtype="<f8").reshape(shape)
                       for k, shape in index["arrays"].items()}

    def __getitem__(self, name):
        return self.arrays[name]


# Wall clock, or the time this process had a processor.
clock = time.process_time if sys.argv[1:] == ["-clock", "cpu"] else time.perf_counter


def once(task):
    t = clock()
    task.run()
    return (clock() - t) / task.per


def stack():
    """What computes here, in one line."""
    import platform
    import scipy
    out = "Python %s, numpy %s, scipy %s" % (platform.python_version(), np.__version__, scipy.__version__)
    try:
        import sklearn
        out += ", scikit-learn %s" % sklearn.__version__
    except ImportError:
        out += ", no scikit-learn"
    try:
        libs = set()
        with open("/proc/self/maps") as f:
            for line in f:
                name = os.path.basename(line.split()[-1])
                if "blas" in name and ".so" in name:
                    libs.add(line.split()[-1])
        import ctypes
        seen = []
        for path in sorted(libs):
            lib = ctypes.CDLL(path)
            for sym in ("openblas_get_config", "openblas_get_config64_", "scipy_openblas_get_config",
                        "scipy_openblas_get_config64_"):
                if hasattr(lib, sym):
                    f = getattr(lib, sym)
                    f.restype = ctypes.c_char_p
                    about = " ".join(f().decode().split()[:2])
                    corename = sym.replace("config", "corename")
                    if hasattr(lib, corename):
                        g = getattr(lib, corename)
                        g.restype = ctypes.c_char_p
                        about += ", core " + g().decode()
                    if about not in seen:
                        seen.append(about)
                        out += "; " + about
                    break
    except OSError:
        pass
    return out


def handle(q, tasks):
    verb, key = q["verb"], (q.get("kind"), q.get("form"))
    if verb == "forms":
        kind = q.get("kind", "")
        return {"forms": list(FORMS.get(kind, {})), "note": "" if kind else stack()}
    if verb == "prepare":
        task = FORMS[key[0]][key[1]](Inputs(q["dir"]))
        seconds = once(task)
        answer = [float(v) for v in task.answer()]
        for _ in range(2):
            if seconds < 0.3:
                seconds = min(seconds, once(task))
        tasks[key] = task
        return {"answer": answer, "seconds": seconds}
    if verb == "run":
        task, reps = tasks[key], q["reps"]
        if task.clock:
            return {"seconds": task.clock(reps), "extra": task.extra}
        run = task.run
        t = clock()
        for _ in range(reps):
            run()
        return {"seconds": (clock() - t) / reps / task.per, "extra": task.extra}
    if verb == "drop":
        tasks.clear()
    return {}


def main():
    out, sys.stdout = sys.stdout, sys.stderr
    tasks = {}
    for line in sys.stdin:
        try:
            reply = handle(json.loads(line), tasks)
        except Exception as e:  # a contender that fails loses its row, not the run
            reply = {"error": "%r\n%s" % (e, traceback.format_exc(limit=-3))}
        out.write(json.dumps(reply) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
