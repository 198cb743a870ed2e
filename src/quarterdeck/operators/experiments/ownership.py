"""Finds objects of an experiment, and refuses to take over those of others."""

from typing import TypeVar

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.run import ExperimentFailed, Run
from quarterdeck.wire.status import NotFound

T = TypeVar("T", bound=Object)

BY_EXPERIMENT = "experiment"
"""Index of objects with our labels, by `namespace/name` of their experiment."""


def get_experiment_key(obj: Object) -> Key | None:
    """Return the key of the experiment that an object was created for."""
    labels = obj.metadata.labels
    name, namespace = labels.get(naming.LABEL_EXPERIMENT), labels.get(naming.LABEL_NAMESPACE)
    return Key(namespace, name) if name and namespace else None


def index_values(obj: Object) -> tuple[str, ...]:
    """The index value of an object."""
    key = get_experiment_key(obj)
    return (str(key),) if key is not None else ()


async def list_own(run: Run, kind: type[T]) -> list[T]:
    """The objects of a kind that were made for the experiment, by name, from the cache."""
    found = await run.ctx.list(kind, index=(BY_EXPERIMENT, str(run.ctx.key)))
    return sorted(found, key=lambda each: each.key)


async def find_own(run: Run, kind: type[T], key: Key) -> T | None:
    """Find an object of the experiment by its key; None if it does not exist.

    The cache has only objects with our label, so others are read from the API server.

    Raises:
        ExperimentFailed: if the object was not created for this experiment.
    """
    found = await run.ctx.find(kind, key.name, key.namespace)
    if found is None:
        try:
            found = await run.ctx.api.get_live(kind, key)
        except NotFound:
            return None
    if get_experiment_key(found) != run.ctx.key:
        raise ExperimentFailed(
            Reason.NAME_CONFLICT,
            f"{kind.KIND.kind} {key} exists and was not made for this experiment; rename the "
            "experiment, or remove the object",
        )
    return found


def is_stale(obj: Object, experiment: Experiment) -> bool:
    """Whether an object was made for an earlier experiment of the same name."""
    uid = obj.metadata.labels.get(naming.LABEL_UID, "")
    return bool(uid) and uid != experiment.metadata.uid
