"""`policy/v1`: disruption budgets."""

from collections.abc import Mapping

from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import Int32, Int64, IntOrString, Time
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.selectors import LabelSelector


class PodDisruptionBudgetSpec(Struct, frozen=True, kw_only=True):
    """How many pods must stay."""

    min_available: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True, kw_only=True):
    """How many pods may go now."""

    observed_generation: Int64 = 0
    disrupted_pods: Mapping[str, Time] = {}
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    conditions: Conditions = ()


class PodDisruptionBudget(Object, frozen=True, kw_only=True):
    """A limit on how many pods are taken away on purpose at one time."""

    KIND = KindInfo(
        group="policy",
        version="v1",
        kind="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        singular="poddisruptionbudget",
        short_names=("pdb",),
    )
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


KINDS: tuple[type[Object], ...] = (PodDisruptionBudget,)
