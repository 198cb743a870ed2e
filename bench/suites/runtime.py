"""Operators that do the same work on the same API server: ours, kopf, the official client, Go.

The workloads are in `bench.workloads`, one module each; the operators in `bench.peers`.
"""

from collections.abc import Sequence

from bench.suite import Case, Scale, Suite
from bench.workloads import contenders, convergence


def cases(scale: Scale) -> Sequence[Case]:
    operators = contenders.operators(may_build=scale is not Scale.QUICK)
    return convergence.cases(scale, operators)


SUITE = Suite(
    name="runtime",
    title="Operator runtime",
    cases=cases,
    versions=("kopf", "kubernetes", "uvloop"),
    programs=("controller-runtime", "go", "kube-apiserver", "etcd"),
    is_process=True,
)
