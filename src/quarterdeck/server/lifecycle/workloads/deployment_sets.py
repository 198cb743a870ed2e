"""The replica sets of a Deployment: template, revision and annotations."""

from collections.abc import Sequence

from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.lifecycle.engine.objects import (
    build_owner_reference,
    get_annotations,
    get_creation_time,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    is_deleting,
)
from quarterdeck.server.lifecycle.workloads.replica_sets import get_replicas
from quarterdeck.server.lifecycle.workloads.rollout import SetSize
from quarterdeck.server.registry.resource import Object

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        HISTORY,
        DESIRED,
        MAXIMUM,
        "deprecated.deployment.rollback.to",
    }
)


def build_replica_set(deployment: Object, suffix: str, size: int, notes: dict[str, str]) -> Object:
    """Build the replica set of the current template."""
    template = get_spec(deployment).get("template") or {}
    given = template.get("metadata") or {}
    tagged = {**(given.get("labels") or {}), HASH_LABEL: suffix}
    selector = get_spec(deployment).get("selector") or {}
    matched = {**(selector.get("matchLabels") or {}), HASH_LABEL: suffix}
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": f"{get_name(deployment)}-{suffix}",
            "namespace": get_namespace(deployment),
            "labels": tagged,
            "annotations": notes,
            "ownerReferences": [build_owner_reference(deployment)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": get_spec(deployment).get("minReadySeconds") or 0,
            "selector": {**selector, "matchLabels": matched},
            "template": {**template, "metadata": {**given, "labels": tagged}},
        },
    }


def copy_annotations(deployment: Object) -> dict[str, str]:
    """Copy the annotations that a replica set takes over from its deployment."""
    return {
        key: text for key, text in get_annotations(deployment).items() if key not in _NOT_COPIED
    }


def get_age_key(replica_set: Object) -> tuple[object, str]:
    """Return the key that sorts replica sets from the oldest to the newest."""
    made = get_creation_time(replica_set)
    return (made.timestamp() if made else 0.0, get_name(replica_set))


def has_current_template(replica_set: Object, deployment: Object) -> bool:
    """Whether a replica set has the current template, apart from the hash label."""
    if is_deleting(replica_set):
        return False
    template = get_spec(replica_set).get("template") or {}
    given = template.get("metadata") or {}
    tags = {key: text for key, text in (given.get("labels") or {}).items() if key != HASH_LABEL}
    plain = {**given, "labels": tags}
    if not tags:
        del plain["labels"]
    other = get_spec(deployment).get("template") or {}
    other_given = {
        key: value for key, value in (other.get("metadata") or {}).items() if value is not None
    }
    plain = {key: value for key, value in plain.items() if value is not None}
    return bool(plain == other_given and template.get("spec") == other.get("spec"))


def count_replicas(replica_set: Object) -> SetSize:
    """Return the desired and available replicas of a replica set."""
    return SetSize(get_replicas(replica_set), get_status(replica_set).get("availableReplicas") or 0)


def count_all_replicas(replica_sets: Sequence[Object]) -> list[SetSize]:
    """Return the desired and available replicas of each replica set."""
    return [count_replicas(each) for each in replica_sets]


def is_saturated(replica_set: Object, replicas: int) -> bool:
    """Whether a replica set has all desired replicas, and all are available."""
    return (
        get_replicas(replica_set) == replicas
        and (get_status(replica_set).get("availableReplicas") or 0) == replicas
        and get_annotations(replica_set).get(DESIRED) == str(replicas)
    )


def get_set_revision(replica_set: Object) -> int:
    """Return the revision annotation of a replica set; 0 if it is absent or invalid."""
    return parse_digits(get_annotations(replica_set).get(REVISION, "0")) or 0


def get_generation(value: Object) -> int:
    """Return `metadata.generation`; 0 if it is absent."""
    return int(value["metadata"].get("generation") or 0)
