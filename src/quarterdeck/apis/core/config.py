"""Namespaces and what lives in them besides workloads: settings, secrets, identities, quotas."""

import base64
from collections.abc import Mapping
from typing import Annotated

from quarterdeck.apis.core.references import LocalObjectReference, ObjectReference
from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import Quantity, Schema, Time
from quarterdeck.meta.objects import Object, Struct


class NamespaceSpec(Struct, frozen=True, kw_only=True):
    """What a namespace should be."""

    finalizers: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()


class NamespaceCondition(Struct, frozen=True, kw_only=True):
    """Why a namespace does not go."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class NamespaceStatus(Struct, frozen=True, kw_only=True):
    """Whether a namespace lives or goes."""

    phase: str = ""
    conditions: tuple[NamespaceCondition, ...] = ()


class Namespace(Object, frozen=True, kw_only=True):
    """A scope for names."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="Namespace",
        plural="namespaces",
        singular="namespace",
        short_names=("ns",),
        scope=Scope.CLUSTER,
    )
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ConfigMap(Object, frozen=True, kw_only=True):
    """Settings as text, or as bytes in base64."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="ConfigMap",
        plural="configmaps",
        singular="configmap",
        short_names=("cm",),
        subresource_status=False,
    )
    data: Mapping[str, str] = {}
    binary_data: Mapping[str, str] = {}
    immutable: bool | None = None


class Secret(Object, frozen=True, kw_only=True):
    """Confidential settings; `data` is base64, and printing shows none of it."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="Secret",
        plural="secrets",
        singular="secret",
        subresource_status=False,
    )
    type: str = ""
    data: Mapping[str, str] = {}
    string_data: Mapping[str, str] = {}
    immutable: bool | None = None

    def read(self, key: str) -> bytes | None:
        """The decoded value of a key, or `None` if there is none.

        Raises:
            ValueError: if the value is not base64; the value is not repeated.
        """
        if (text := self.string_data.get(key)) is not None:
            return text.encode()
        if (encoded := self.data.get(key)) is None:
            return None
        try:
            return base64.b64decode(encoded, validate=True)
        except ValueError:
            raise ValueError(f"secret {self.key}: data[{key}] is not base64") from None

    def __repr__(self) -> str:
        keys = sorted({*self.data, *self.string_data})
        return f"Secret({self.key}, keys={keys})"

    __str__ = __repr__


class ServiceAccount(Object, frozen=True, kw_only=True):
    """An identity for programs."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="ServiceAccount",
        plural="serviceaccounts",
        singular="serviceaccount",
        short_names=("sa",),
        subresource_status=False,
    )
    secrets: tuple[ObjectReference, ...] = ()
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    automount_service_account_token: bool | None = None


class ResourceQuotaSpec(Struct, frozen=True, kw_only=True):
    """What a namespace may use at most."""

    hard: Mapping[str, Quantity] = {}
    scopes: tuple[str, ...] = ()


class ResourceQuotaStatus(Struct, frozen=True, kw_only=True):
    """What a namespace uses."""

    hard: Mapping[str, Quantity] = {}
    used: Mapping[str, Quantity] = {}


class ResourceQuota(Object, frozen=True, kw_only=True):
    """A limit on what a namespace uses in total."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="ResourceQuota",
        plural="resourcequotas",
        singular="resourcequota",
        short_names=("quota",),
    )
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()
