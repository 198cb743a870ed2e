"""Component: something that experiments can install, with its sources and parameters."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.experiments.targets import InlineSource
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo, Scope
from quarterdeck.meta.markers import Int32, Int64, Schema
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

__all__ = ["Component", "ComponentSource", "InlineSource"]

ComponentType = Literal["app", "workflow", "config"]
ParameterType = Literal["string", "int", "bool"]

ONE_LOCATION = Rule(
    rule="[has(self.path), has(self.chart), has(self.ref)].filter(x, x).size() <= 1",
    message="at most one of path, chart and ref may be set",
)
CHART_NEEDS_VERSION = Rule(
    rule="!has(self.chart) || (has(self.targetRevision) && self.targetRevision != 'HEAD')",
    message="targetRevision must be set to the version of the chart",
    field_path=".targetRevision",
)


class HelmParameter(Struct, frozen=True, kw_only=True):
    """One value of a chart."""

    name: Annotated[str, Schema(min_length=1, max_length=253)]
    """Path of the value, such as image.tag or list[0].name."""
    value: Annotated[str, Schema(max_length=65536)]
    """The value; ${...} references are replaced."""
    force_string: bool = False
    """Whether the value stays a string even if it looks like a number."""


class Helm(Struct, frozen=True, kw_only=True):
    """How a chart is rendered."""

    release_name: Annotated[str, Schema(max_length=53)] = ""
    """Name of the release."""
    values_files: Annotated[tuple[str, ...], Schema(max_items=32, list_type="atomic")] = ()
    """Files with values; names that begin with $values/ are looked up in the source with a ref."""
    parameters: Annotated[
        tuple[HelmParameter, ...],
        Schema(max_items=256, list_type="map", list_map_keys=("name",)),
    ] = ()
    """Values that are set one by one."""
    values: Annotated[str, Schema(max_length=65536)] = ""
    """A document of values; ${...} references are replaced."""


class ComponentSource(Struct, frozen=True, kw_only=True):
    """Where manifests of a component come from."""

    repo_url: Annotated[str, Schema(min_length=1, max_length=2048)] = msgspec.field(name="repoURL")
    """Address of the git or Helm repository."""
    target_revision: Annotated[str, Schema(default="HEAD", max_length=253)] = "HEAD"
    """Revision, tag or chart version."""
    path: Annotated[str, Schema(min_length=1, max_length=1024)] = ""
    """Directory in a git repository."""
    chart: Annotated[str, Schema(min_length=1, max_length=253)] = ""
    """Name of a chart in a Helm repository."""
    ref: Annotated[str, Schema(min_length=1, max_length=63)] = ""
    """Name under which other sources refer to files of this repository; usually values."""
    helm: Helm | None = None
    """How a chart is rendered."""


class ComponentParameter(Struct, frozen=True, kw_only=True):
    """A parameter that experiments may set."""

    name: Annotated[str, Schema(min_length=1, max_length=253)]
    """Name of the parameter."""
    type: Annotated[ParameterType, Schema(default="string")] = "string"
    """Type of its value."""
    default: Annotated[str, Schema(max_length=65536)] = ""
    """Value if an experiment sets none."""
    description: Annotated[str, Schema(max_length=1024)] = ""
    """What the parameter does."""
    required: bool = False
    """Whether an experiment must set it."""


class ComponentObservability(Struct, frozen=True, kw_only=True):
    """What a component offers to those who collect metrics."""

    service_monitor: bool = False
    """Whether it brings a ServiceMonitor."""
    pod_monitor: bool = False
    """Whether it brings a PodMonitor."""
    pod_labels: Mapping[str, str] = {}
    """Labels of its pods."""
    metrics_path: Annotated[str, Schema(default="/metrics")] = "/metrics"
    """Path of its metrics."""
    metrics_port: Annotated[Int32, Schema(minimum=1, maximum=65535)] | None = None
    """Port of its metrics."""


class ComponentSpec(Struct, frozen=True, kw_only=True):
    """What a component is made of."""

    type: ComponentType
    """How experiments refer to it."""
    description: Annotated[str, Schema(max_length=4096)] = ""
    """What it is, for people."""
    sources: Annotated[
        tuple[ComponentSource, ...],
        Schema(
            max_items=8,
            list_type="atomic",
            items=Schema(rules=(ONE_LOCATION, CHART_NEEDS_VERSION)),
        ),
    ] = ()
    """Where its manifests come from."""
    parameters: Annotated[
        tuple[ComponentParameter, ...],
        Schema(max_items=128, list_type="map", list_map_keys=("name",)),
    ] = ()
    """Parameters that experiments may set."""
    observability: ComponentObservability | None = None
    """What it offers to those who collect metrics."""


class ComponentStatus(Struct, frozen=True, kw_only=True):
    """What is known about a component."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    sources: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of sources."""
    conditions: Conditions = ()
    """Valid: whether experiments can use it."""


class Component(Object, frozen=True, kw_only=True):
    """Something that experiments can install on their targets."""

    KIND = KindInfo(
        group="experiments.illm.io",
        version="v1alpha1",
        kind="Component",
        plural="components",
        singular="component",
        scope=Scope.CLUSTER,
        columns=(
            Column(name="Type", path=".spec.type"),
            Column(name="Sources", type="integer", path=".status.sources"),
            Column(name="Valid", path='.status.conditions[?(@.type=="Valid")].status'),
            AGE,
        ),
    )
    spec: ComponentSpec
    """What it is made of."""
    status: ComponentStatus = ComponentStatus()
    """What is known about it."""
