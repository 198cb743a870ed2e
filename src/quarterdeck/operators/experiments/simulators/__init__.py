"""Simulators of Crossplane, Cluster API, Argo CD and Argo Workflows, for `up` and for tests.

They are ordinary controllers: they watch the objects the operator writes and answer in the words of
the real systems. Target clusters are real API servers from a `ClusterFactory`, so kubeconfigs and
Argo CD's Secrets really work. Delays and faults come from annotations, see `behavior`.
"""

from quarterdeck.operators.experiments.simulators.behavior import Delays
from quarterdeck.operators.experiments.simulators.register import Simulation, register

__all__ = ["Delays", "Simulation", "register"]
