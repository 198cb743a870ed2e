"""`apiextensions.k8s.io/v1`: custom resource definitions; the schema itself stays raw JSON."""

from typing import Annotated

import msgspec

from quarterdeck.apis.admissionregistration import WebhookClientConfig
from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import ABSENT, Arbitrary, Int32, Schema, Time
from quarterdeck.meta.objects import Object, Struct


class CustomResourceDefinitionNames(Struct, frozen=True, kw_only=True):
    """What the resource is called."""

    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class CustomResourceValidation(Struct, frozen=True, kw_only=True):
    """The schema of one version."""

    open_api_v3_schema: Arbitrary = msgspec.field(name="openAPIV3Schema", default=ABSENT)


class CustomResourceSubresourceScale(Struct, frozen=True, kw_only=True):
    """The paths behind `scale`."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str | None = None


class CustomResourceSubresourceStatus(Struct, frozen=True, kw_only=True):
    """The presence of `status`."""


class CustomResourceSubresources(Struct, frozen=True, kw_only=True):
    """Which subresources there are."""

    status: CustomResourceSubresourceStatus | None = None
    scale: CustomResourceSubresourceScale | None = None


class CustomResourceColumnDefinition(Struct, frozen=True, kw_only=True):
    """One column of `kubectl get`."""

    name: str
    type: str
    json_path: str = msgspec.field(name="jsonPath")
    format: str = ""
    description: str = ""
    priority: Int32 = 0


class SelectableField(Struct, frozen=True, kw_only=True):
    """A field that field selectors may name."""

    json_path: str = msgspec.field(name="jsonPath")


class CustomResourceDefinitionVersion(Struct, frozen=True, kw_only=True):
    """One version of a kind."""

    name: str
    served: bool
    storage: bool
    deprecated: bool = False
    deprecation_warning: str | None = None
    schema: CustomResourceValidation | None = None
    subresources: CustomResourceSubresources | None = None
    additional_printer_columns: tuple[CustomResourceColumnDefinition, ...] = ()
    selectable_fields: tuple[SelectableField, ...] = ()


class WebhookConversion(Struct, frozen=True, kw_only=True):
    """The webhook that converts."""

    client_config: WebhookClientConfig | None = None
    conversion_review_versions: tuple[str, ...] = ()


class CustomResourceConversion(Struct, frozen=True, kw_only=True):
    """How one version becomes another."""

    strategy: str
    webhook: WebhookConversion | None = None


class CustomResourceDefinitionSpec(Struct, frozen=True, kw_only=True):
    """The definition of a kind."""

    group: str
    names: CustomResourceDefinitionNames
    scope: str
    versions: tuple[CustomResourceDefinitionVersion, ...]
    conversion: CustomResourceConversion | None = None
    preserve_unknown_fields: bool = False


class CustomResourceDefinitionCondition(Struct, frozen=True, kw_only=True):
    """One fact about the state of a definition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class CustomResourceDefinitionStatus(Struct, frozen=True, kw_only=True):
    """Whether the kind is served."""

    conditions: Annotated[
        tuple[CustomResourceDefinitionCondition, ...],
        Schema(list_type="map", list_map_keys=("type",)),
    ] = ()
    accepted_names: CustomResourceDefinitionNames = CustomResourceDefinitionNames()
    stored_versions: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()


class CustomResourceDefinition(Object, frozen=True, kw_only=True):
    """A kind of your own."""

    KIND = KindInfo(
        group="apiextensions.k8s.io",
        version="v1",
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        singular="customresourcedefinition",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        scope=Scope.CLUSTER,
    )
    spec: CustomResourceDefinitionSpec
    status: CustomResourceDefinitionStatus = CustomResourceDefinitionStatus()


KINDS: tuple[type[Object], ...] = (CustomResourceDefinition,)
