"""Operators that do the same work on the same API server: ours, kopf, the official client, Go.

The workloads are in `bench.workloads`, one module each; the operators in `bench.peers`.
"""

from collections.abc import Sequence

from bench.suite import OURS, Case, Scale, Suite
from bench.workloads import (
    contenders,
    convergence,
    failover,
    fairness,
    fan_out,
    faults,
    filtered,
    knee,
    restart,
    webhooks,
)

_FURTHER = (knee, restart, failover, faults, fairness, fan_out, filtered, webhooks)


def cases(scale: Scale) -> Sequence[Case]:
    operators = contenders.operators(may_build=scale is not Scale.QUICK)
    found = convergence.cases(scale, operators)
    if scale is Scale.QUICK:  # that the others are driven alike was seen above
        operators = {OURS: operators[OURS]}
    for workload in scale.pick(_FURTHER, (), _FURTHER):
        found += workload.cases(scale, operators)
    return found


SUITE = Suite(
    name="runtime",
    title="Operator runtime",
    cases=cases,
    versions=("kopf", "kubernetes", "uvloop"),
    programs=("controller-runtime", "go", "kube-apiserver", "etcd"),
    is_process=True,
)
