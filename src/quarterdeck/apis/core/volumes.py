"""What a pod can mount."""

import msgspec

from quarterdeck.meta.markers import ABSENT, Arbitrary, Int32, Int64, Quantity
from quarterdeck.meta.objects import Struct


class KeyToPath(Struct, frozen=True, kw_only=True):
    """One key as one file."""

    key: str
    path: str
    mode: Int32 | None = None


class ConfigMapVolumeSource(Struct, frozen=True, kw_only=True):
    """A ConfigMap as files."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: Int32 | None = None
    optional: bool | None = None


class SecretVolumeSource(Struct, frozen=True, kw_only=True):
    """A Secret as files."""

    secret_name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: Int32 | None = None
    optional: bool | None = None


class EmptyDirVolumeSource(Struct, frozen=True, kw_only=True):
    """A folder that lives as long as the pod."""

    medium: str = ""
    size_limit: Quantity | None = None


class HostPathVolumeSource(Struct, frozen=True, kw_only=True):
    """A folder of the node."""

    path: str
    type: str | None = None


class PersistentVolumeClaimVolumeSource(Struct, frozen=True, kw_only=True):
    """A claim of the same namespace."""

    claim_name: str
    read_only: bool = False


class KeysProjection(Struct, frozen=True, kw_only=True):
    """The keys of a ConfigMap or Secret as files among others."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class ServiceAccountTokenProjection(Struct, frozen=True, kw_only=True):
    """A token of the pod's service account as a file."""

    path: str
    audience: str = ""
    expiration_seconds: Int64 | None = None


class VolumeProjection(Struct, frozen=True, kw_only=True):
    """One source of a projected volume."""

    config_map: KeysProjection | None = None
    secret: KeysProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None
    downward_api: Arbitrary = msgspec.field(name="downwardAPI", default=ABSENT)


class ProjectedVolumeSource(Struct, frozen=True, kw_only=True):
    """Several sources in one folder."""

    sources: tuple[VolumeProjection, ...] = ()
    default_mode: Int32 | None = None


class Volume(Struct, frozen=True, kw_only=True):
    """One volume; exactly one source is set."""

    name: str
    config_map: ConfigMapVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
