"""Objects of Kubernetes of which only the metadata, or a little more, is read."""

from typing import Final

from quarterdeck.apis.batch import Job
from quarterdeck.apis.core.config import ConfigMap, Namespace, Secret
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.operators.experiments.foreign.condition import ForeignCondition

CROSSPLANE_SECRET_TYPE: Final = "connection.crossplane.io/v1alpha1"
CAPI_SECRET_TYPE: Final = "cluster.x-k8s.io/secret"


class _Head(Object, frozen=True, kw_only=True):
    """Metadata alone, which the API server sends with the kind PartialObjectMetadata."""

    KIND = ConfigMap.KIND

    def __post_init__(self) -> None:
        """Accept any kind."""


class OwnSecretHead(_Head, frozen=True, kw_only=True):
    """The metadata of a Secret that we wrote."""

    KIND = Secret.KIND


class CrossplaneSecretHead(_Head, frozen=True, kw_only=True):
    """The metadata of a connection Secret of Crossplane."""

    KIND = Secret.KIND


class CapiSecretHead(_Head, frozen=True, kw_only=True):
    """The metadata of a kubeconfig Secret of Cluster API."""

    KIND = Secret.KIND


class OwnConfigMapHead(_Head, frozen=True, kw_only=True):
    """The metadata of a ConfigMap that we wrote."""

    KIND = ConfigMap.KIND


class OwnNamespaceHead(_Head, frozen=True, kw_only=True):
    """The metadata of a namespace that was made for an experiment."""

    KIND = Namespace.KIND


class JobCounts(Struct, frozen=True, kw_only=True):
    """The fields of a Job's status that are read."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[ForeignCondition, ...] = ()


class PostRunJob(Object, frozen=True, kw_only=True):
    """The Job after a run."""

    KIND = Job.KIND
    status: JobCounts = JobCounts()
