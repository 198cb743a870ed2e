"""The experiments operator: an Experiment becomes clusters, applications, a workflow and a verdict.

Imports `runtime`, `apis`, `meta`, `kit`; only `drivers` and `simulators` import `client`. Start at
`experiment` (the phases), then `plan` (what should exist), `clusters`, `argocd`, `workflows` (the
objects), `cleanup` (what is deleted, in which order) and `conditions` (what is true).
"""

from quarterdeck.operators.experiments.register import WRITES, Ports, declare_controllers, register
from quarterdeck.operators.experiments.settings import Settings

__all__ = ["WRITES", "Ports", "Settings", "declare_controllers", "register"]
