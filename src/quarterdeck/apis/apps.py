"""`apps/v1`: Deployments and the ReplicaSets behind them."""

from typing import Annotated

from quarterdeck.apis.core.pods import PodTemplateSpec
from quarterdeck.meta.kinds import KindInfo, Scale
from quarterdeck.meta.markers import Int32, Int64, IntOrString, Schema, Time
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.selectors import LabelSelector


class RollingUpdateDeployment(Struct, frozen=True, kw_only=True):
    """How fast a rolling update goes."""

    max_unavailable: IntOrString | None = None
    max_surge: IntOrString | None = None


class DeploymentStrategy(Struct, frozen=True, kw_only=True):
    """How old pods are replaced by new ones."""

    type: str = ""
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(Struct, frozen=True, kw_only=True):
    """What a deployment should be."""

    selector: LabelSelector
    template: PodTemplateSpec
    replicas: Int32 | None = None
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None
    paused: bool = False
    progress_deadline_seconds: Int32 | None = None


class ReplicaSetCondition(Struct, frozen=True, kw_only=True):
    """One fact about the state of a replica set."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class DeploymentCondition(ReplicaSetCondition, frozen=True, kw_only=True):
    """One fact about the state of a deployment."""

    last_update_time: Time | None = None


_BY_TYPE = Schema(list_type="map", list_map_keys=("type",))


class DeploymentStatus(Struct, frozen=True, kw_only=True):
    """What a deployment is."""

    observed_generation: Int64 = 0
    replicas: Int32 = 0
    updated_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
    collision_count: Int32 | None = None
    conditions: Annotated[tuple[DeploymentCondition, ...], _BY_TYPE] = ()


class Deployment(Object, frozen=True, kw_only=True):
    """Pods of one template, replaced gradually when the template changes."""

    KIND = KindInfo(
        group="apps",
        version="v1",
        kind="Deployment",
        plural="deployments",
        singular="deployment",
        short_names=("deploy",),
        categories=("all",),
        scale=Scale(label_selector=".status.selector"),
    )
    spec: DeploymentSpec
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(Struct, frozen=True, kw_only=True):
    """What a replica set should be."""

    selector: LabelSelector
    template: PodTemplateSpec = PodTemplateSpec()
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0


class ReplicaSetStatus(Struct, frozen=True, kw_only=True):
    """What a replica set is."""

    replicas: Int32 = 0
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    observed_generation: Int64 = 0
    conditions: Annotated[tuple[ReplicaSetCondition, ...], _BY_TYPE] = ()


class ReplicaSet(Object, frozen=True, kw_only=True):
    """A number of pods of one template."""

    KIND = KindInfo(
        group="apps",
        version="v1",
        kind="ReplicaSet",
        plural="replicasets",
        singular="replicaset",
        short_names=("rs",),
        categories=("all",),
        scale=Scale(label_selector=".status.selector"),
    )
    spec: ReplicaSetSpec
    status: ReplicaSetStatus = ReplicaSetStatus()


KINDS: tuple[type[Object], ...] = (Deployment, ReplicaSet)
