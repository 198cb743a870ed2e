"""Deployments: replica sets that follow each other."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.lifecycle.engine.actions import Action, Create, Record, Requeue
from quarterdeck.server.lifecycle.engine.controller import keys_of_controller
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    annotations,
    delete,
    is_deleting,
    name,
    namespace,
    spec,
    status,
    uid,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads import deployment_status as report
from quarterdeck.server.lifecycle.workloads.deployment_sets import (
    DESIRED,
    HISTORY,
    MAXIMUM,
    REVISION,
    age_of,
    copied_notes,
    generation_of,
    is_of,
    is_saturated,
    new_set,
    number_of,
    numbers_of,
    revision_of_set,
)
from quarterdeck.server.lifecycle.workloads.pods import PODS, claim, is_finished, selector_of
from quarterdeck.server.lifecycle.workloads.replica_sets import REPLICA_SETS, wanted
from quarterdeck.server.lifecycle.workloads.rollout import (
    Bounds,
    Set,
    bounds,
    grow_new,
    scale_proportionally,
    shrink_old,
)
from quarterdeck.server.lifecycle.workloads.template_hash import template_hash
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

DEPLOYMENTS = "deployments.apps"
_COMPONENT = "deployment-controller"


class Deployments:
    """Rolls out templates."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({DEPLOYMENTS, REPLICA_SETS, PODS})
    initial: Sequence[StoreKey] = ()

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """The deployment itself, that of a replica set, and that of a pod which is gone."""
        if event.key.resource == DEPLOYMENTS:
            yield event.key
        elif event.key.resource == REPLICA_SETS:
            yield from keys_of_controller(event, index, kind="Deployment", resource=DEPLOYMENTS)
        elif event.after is None and event.before is not None:
            yield from index.selecting(DEPLOYMENTS, event.key.namespace, report.labels_of(event))

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """One step of the rollout, and what is to be said about it."""
        deployment = view.get(key)
        selector = None if deployment is None else selector_of(deployment)
        if deployment is None or selector is None or selector.is_empty:
            return ()
        owned, actions = claim(view, deployment, REPLICA_SETS, selector)
        if actions:
            return actions
        return list(_Rollout(view, deployment, owned).plan())


class _Rollout:
    """One look at a deployment and its replica sets."""

    def __init__(self, view: View, deployment: Object, owned: list[Object]) -> None:
        self.view = view
        self.deployment = deployment
        self.sets = sorted(owned, key=age_of)
        self.new = next((each for each in self.sets if is_of(each, deployment)), None)
        self.old = [each for each in self.sets if each is not self.new]
        self.replicas = wanted(deployment)
        strategy = spec(deployment).get("strategy") or {}
        self.is_recreate = strategy.get("type") == "Recreate"
        rolling = strategy.get("rollingUpdate") or {}
        self.limits = (
            Bounds(0, 0)
            if self.is_recreate
            else bounds(self.replicas, rolling.get("maxSurge"), rolling.get("maxUnavailable"))
        )

    def plan(self) -> Iterator[Action]:
        if is_deleting(self.deployment):
            yield from self._say()
        elif spec(self.deployment).get("paused") or self._was_scaled():
            targets = self._scaled()
            yield from self._resize(targets)
            yield from self._say()
        elif self.is_recreate:
            yield from self._recreate()
        else:
            yield from self._roll()

    # strategies ----------------------------------------------------------------------------------

    def _roll(self) -> Iterator[Action]:
        if self.new is None:
            size = grow_new(self.replicas, self.limits, Set(0, 0), numbers_of(self.old))
            yield from self._begin(size)
            return
        new, old = number_of(self.new), numbers_of(self.old)
        size = grow_new(self.replicas, self.limits, new, old)
        if size != new.wanted:
            yield from self._resize({uid(self.new): size})
            yield from self._say()
            return
        shrunk = shrink_old(self.replicas, self.limits, new, old)
        targets = {uid(each): size for each, size in zip(self.old, shrunk, strict=True)}
        yield from self._resize(targets)
        yield from self._tidy()
        yield from self._say()

    def _recreate(self) -> Iterator[Action]:
        if any(wanted(each) for each in self.old):
            yield from self._resize({uid(each): 0 for each in self.old})
            yield from self._say()
        elif any(self._has_pods(each) for each in self.old):
            yield from self._say()
        elif self.new is None:
            yield from self._begin(self.replicas)
        else:
            yield from self._resize({uid(self.new): self.replicas})
            yield from self._tidy()
            yield from self._say()

    def _has_pods(self, replica_set: Object) -> bool:
        return any(not is_finished(pod) for pod in self.view.owned(uid(replica_set), PODS))

    # steps ---------------------------------------------------------------------------------------

    def _begin(self, size: int) -> Iterator[Action]:
        """Make the replica set of the present template."""
        collisions = status(self.deployment).get("collisionCount") or 0
        template = spec(self.deployment).get("template") or {}
        suffix = template_hash(template, collisions)
        new_name = f"{name(self.deployment)}-{suffix}"
        taken = self.view.get(StoreKey(REPLICA_SETS, namespace(self.deployment), new_name))
        if taken is not None:
            yield from self._collide(taken, collisions)
            return
        notes = {
            **copied_notes(self.deployment),
            REVISION: str(self._next_revision()),
            **self._sizes(),
        }
        value = new_set(self.deployment, suffix, size, notes)
        yield Create(REPLICA_SETS, value)
        if size:
            yield self._news(new_name, 0, size)
        yield from self._say(created=value)

    def _collide(self, taken: Object, collisions: int) -> Iterator[Action]:
        """Another template has the name: try the next one, unless it is on its way to us."""
        if is_deleting(taken):
            yield Requeue(1.0)
            return
        new = {**status(self.deployment), "collisionCount": collisions + 1}
        yield update(DEPLOYMENTS, self.deployment, "status", status=new)

    def _resize(self, targets: dict[str, int]) -> Iterator[Action]:
        """Write the sets whose size, or whose notes, are not as they should be."""
        for each in self.sets:
            size = targets.get(uid(each), wanted(each))
            notes = self._notes(each)
            if size == wanted(each) and notes == annotations(each):
                continue
            members = {**spec(each), "replicas": size}
            yield update(REPLICA_SETS, each, metadata={"annotations": notes}, spec=members)
            if size != wanted(each):
                yield self._news(name(each), wanted(each), size)

    def _notes(self, replica_set: Object) -> dict[str, str]:
        notes = dict(annotations(replica_set))
        if wanted(replica_set) or replica_set is self.new:
            notes |= self._sizes()
        if replica_set is self.new:
            notes |= copied_notes(self.deployment)
            self._number_new(notes)
        return notes

    def _number_new(self, notes: dict[str, str]) -> None:
        """The new set has the highest revision; those it had before are remembered."""
        present, highest = notes.get(REVISION), self._next_revision()
        if present is None or int(present) < highest:
            if present is not None:
                notes[HISTORY] = ",".join(filter(None, (notes.get(HISTORY), present)))
            notes[REVISION] = str(highest)

    def _next_revision(self) -> int:
        return max((revision_of_set(each) for each in self.old), default=0) + 1

    def _sizes(self) -> dict[str, str]:
        total = self.replicas + self.limits.surge
        return {DESIRED: str(self.replicas), MAXIMUM: str(total)}

    def _was_scaled(self) -> bool:
        """Whether the number of replicas changed, apart from any rollout."""
        return any(
            annotations(each).get(DESIRED, str(self.replicas)) != str(self.replicas)
            for each in self.sets
            if wanted(each)
        )

    def _scaled(self) -> dict[str, int]:
        active = [each for each in self.sets if wanted(each)]
        if len(active) <= 1:
            only = active[0] if active else self.new
            return {} if only is None else {uid(only): self.replicas}
        if self.new is not None and is_saturated(self.new, self.replicas):
            return {uid(each): 0 for each in self.old}
        if self.is_recreate:
            return {}
        newest_first = active[::-1]
        former = [int(annotations(each).get(MAXIMUM, "0")) for each in newest_first]
        sizes = [wanted(each) for each in newest_first]
        scaled = scale_proportionally(self.replicas, self.limits, sizes, former)
        return {uid(each): size for each, size in zip(newest_first, scaled, strict=True)}

    def _tidy(self) -> Iterator[Action]:
        """Forget the oldest revisions once the rollout is complete."""
        limit = spec(self.deployment).get("revisionHistoryLimit")
        if limit is None or not report.is_complete(self.deployment, status(self.deployment)):
            return
        idle = [each for each in self.old if not is_deleting(each)]
        for each in sorted(idle, key=revision_of_set)[: max(0, len(idle) - limit)]:
            settled = status(each).get("observedGeneration", 0) >= generation_of(each)
            if not wanted(each) and not status(each).get("replicas") and settled:
                yield delete(REPLICA_SETS, each)

    def _news(self, set_name: str, before: int, after: int) -> Record:
        direction = "up" if after > before else "down"
        return Record(
            about=self.deployment,
            reason="ScalingReplicaSet",
            message=f"Scaled {direction} replica set {set_name} from {before} to {after}",
            component=_COMPONENT,
        )

    def _say(self, created: Object | None = None) -> Iterator[Action]:
        """Write the status, and the revision, if they changed."""
        observed = report.Observed(
            sets=self.sets, new=self.new, created=created, unavailable=self.limits.unavailable
        )
        new = report.compute(self.deployment, observed, self.view.now)
        notes = dict(annotations(self.deployment))
        current = created if created is not None else self.new
        if current is not None:
            notes[REVISION] = (
                annotations(current)[REVISION]
                if created is not None
                else self._notes(current)[REVISION]
            )
        if new != status(self.deployment) or notes != annotations(self.deployment):
            metadata = {"annotations": notes or None}
            yield update(DEPLOYMENTS, self.deployment, "status", metadata=metadata, status=new)
        if (wait := report.deadline_in(self.deployment, new, self.view.now)) is not None:
            yield Requeue(wait)
