"""Forms by kind of work, and what a form prepares."""
import numpy as np

FORMS = {}


class Task:
    """run does the work once; answer gives what all contenders must agree on; a
    run counts as per pieces; clock replaces the timing; extra holds what else is
    measured."""

    def __init__(self, run, answer, per=1, clock=None):
        self.run, self.answer, self.per, self.clock, self.extra = run, answer, per, clock, {}


def form(kind, name):
    def register(f):
        FORMS.setdefault(kind, {})[name] = f
        return f
    return register


def sample(*parts):
    """Up to 64 entries, evenly spread: the same ones as in forms.go."""
    flat = np.concatenate([np.ascontiguousarray(p).ravel() for p in parts])
    return flat[::len(flat) // 64 + 1]


def F(a):
    return np.asfortranarray(a)


def sym_lower(a):
    """The whole of a symmetric matrix of which the lower triangle is right."""
    a = np.tril(a)
    return a + np.tril(a, -1).T
