"""The Deployment controller: rolls replica sets out, one template after the other."""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.lifecycle.engine.actions import Action, Create, Record, Requeue
from quarterdeck.server.lifecycle.engine.controller import find_controller_keys
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    delete,
    get_annotations,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    get_uid,
    is_deleting,
    update,
    update_last,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads import deployment_status as report
from quarterdeck.server.lifecycle.workloads.deployment_sets import (
    DESIRED,
    HISTORY,
    MAXIMUM,
    REVISION,
    build_replica_set,
    copy_annotations,
    count_all_replicas,
    count_replicas,
    get_age_key,
    get_generation,
    get_set_revision,
    has_current_template,
    is_saturated,
)
from quarterdeck.server.lifecycle.workloads.pods import PODS, claim, is_finished, parse_selector
from quarterdeck.server.lifecycle.workloads.replica_sets import REPLICA_SETS, get_replicas
from quarterdeck.server.lifecycle.workloads.rollout import (
    Bounds,
    SetSize,
    compute_bounds,
    compute_new_replicas,
    compute_old_replicas,
    scale_proportionally,
)
from quarterdeck.server.lifecycle.workloads.template_hash import hash_template
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

DEPLOYMENTS = "deployments.apps"
_COMPONENT = "deployment-controller"


class Deployments:
    """Rolls out the templates of deployments."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({DEPLOYMENTS, REPLICA_SETS, PODS})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find a written deployment, that of a replica set, and those of a deleted pod."""
        if event.key.resource == DEPLOYMENTS:
            yield event.key
        elif event.key.resource == REPLICA_SETS:
            yield from find_controller_keys(event, index, kind="Deployment", resource=DEPLOYMENTS)
        elif event.after is None and event.before is not None:
            yield from index.find_selecting(
                DEPLOYMENTS, event.key.namespace, report.get_old_labels(event)
            )

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Plan the next step of the rollout, with its events and the status."""
        deployment = view.get(key)
        selector = None if deployment is None else parse_selector(deployment)
        if deployment is None or selector is None or selector.is_empty:
            return ()
        owned, actions = claim(view, deployment, REPLICA_SETS, selector)
        if actions:
            return actions
        return list(_Rollout(view, deployment, owned).plan())


class _Rollout:
    """The plan of one deployment."""

    def __init__(self, view: View, deployment: Object, owned: list[Object]) -> None:
        self.view = view
        self.deployment = deployment
        self.sets = sorted(owned, key=get_age_key)
        self.new = next(
            (each for each in self.sets if has_current_template(each, deployment)), None
        )
        self.old = [each for each in self.sets if each is not self.new]
        self.replicas = get_replicas(deployment)
        strategy = get_spec(deployment).get("strategy") or {}
        self.is_recreate = strategy.get("type") == "Recreate"
        rolling = strategy.get("rollingUpdate") or {}
        self.limits = (
            Bounds(0, 0)
            if self.is_recreate
            else compute_bounds(
                self.replicas, rolling.get("maxSurge"), rolling.get("maxUnavailable")
            )
        )

    def plan(self) -> Iterator[Action]:
        if is_deleting(self.deployment):
            yield from self._update_status()
        elif get_spec(self.deployment).get("paused") or self._was_scaled():
            targets = self._scale_proportionally()
            yield from self._resize_sets(targets)
            yield from self._update_status()
        elif self.is_recreate:
            yield from self._plan_recreate()
        else:
            yield from self._plan_rolling_update()

    # strategies ----------------------------------------------------------------------------------

    def _plan_rolling_update(self) -> Iterator[Action]:
        if self.new is None:
            size = compute_new_replicas(
                self.replicas, self.limits, SetSize(0, 0), count_all_replicas(self.old)
            )
            yield from self._create_replica_set(size)
            return
        new, old = count_replicas(self.new), count_all_replicas(self.old)
        size = compute_new_replicas(self.replicas, self.limits, new, old)
        if size != new.wanted:
            yield from self._resize_sets({get_uid(self.new): size})
            yield from self._update_status()
            return
        shrunk = compute_old_replicas(self.replicas, self.limits, new, old)
        targets = {get_uid(each): size for each, size in zip(self.old, shrunk, strict=True)}
        yield from self._resize_sets(targets)
        yield from self._delete_old_sets()
        yield from self._update_status()

    def _plan_recreate(self) -> Iterator[Action]:
        if any(get_replicas(each) for each in self.old):
            yield from self._resize_sets({get_uid(each): 0 for each in self.old})
            yield from self._update_status()
        elif any(self._has_pods(each) for each in self.old):
            yield from self._update_status()
        elif self.new is None:
            yield from self._create_replica_set(self.replicas)
        else:
            yield from self._resize_sets({get_uid(self.new): self.replicas})
            yield from self._delete_old_sets()
            yield from self._update_status()

    def _has_pods(self, replica_set: Object) -> bool:
        return any(not is_finished(pod) for pod in self.view.list_owned(get_uid(replica_set), PODS))

    # steps ---------------------------------------------------------------------------------------

    def _create_replica_set(self, size: int) -> Iterator[Action]:
        """Create the replica set of the current template."""
        collisions = get_status(self.deployment).get("collisionCount") or 0
        template = get_spec(self.deployment).get("template") or {}
        suffix = hash_template(template, collisions)
        new_name = f"{get_name(self.deployment)}-{suffix}"
        taken = self.view.get(StoreKey(REPLICA_SETS, get_namespace(self.deployment), new_name))
        if taken is not None:
            yield from self._count_collision(taken, collisions)
            return
        notes = {
            **copy_annotations(self.deployment),
            REVISION: str(self._compute_next_revision()),
            **self._build_size_annotations(),
        }
        value = build_replica_set(self.deployment, suffix, size, notes)
        yield Create(REPLICA_SETS, value)
        if size:
            yield self._build_event(new_name, 0, size)
        yield from self._update_status(created=value)

    def _count_collision(self, taken: Object, collisions: int) -> Iterator[Action]:
        """Increase the collision count for another name; wait if `taken` is being deleted."""
        if is_deleting(taken):
            yield Requeue(1.0)
            return
        new = {**get_status(self.deployment), "collisionCount": collisions + 1}
        yield update(DEPLOYMENTS, self.deployment, "status", status=new)

    def _resize_sets(self, targets: dict[str, int]) -> Iterator[Action]:
        """Update the replica sets whose size or annotations differ from the wanted ones."""
        for each in self.sets:
            size = targets.get(get_uid(each), get_replicas(each))
            notes = self._build_annotations(each)
            if size == get_replicas(each) and notes == get_annotations(each):
                continue
            members = {**get_spec(each), "replicas": size}
            yield update(REPLICA_SETS, each, metadata={"annotations": notes}, spec=members)
            if size != get_replicas(each):
                yield self._build_event(get_name(each), get_replicas(each), size)

    def _build_annotations(self, replica_set: Object) -> dict[str, str]:
        notes = dict(get_annotations(replica_set))
        if get_replicas(replica_set) or replica_set is self.new:
            notes |= self._build_size_annotations()
        if replica_set is self.new:
            notes |= copy_annotations(self.deployment)
            self._set_revision(notes)
        return notes

    def _set_revision(self, notes: dict[str, str]) -> None:
        """Give the new replica set the highest revision; keep its former ones as history."""
        present, highest = notes.get(REVISION), self._compute_next_revision()
        number = parse_digits(present)
        if present is None or (number is not None and number < highest):
            if present is not None:
                notes[HISTORY] = ",".join(filter(None, (notes.get(HISTORY), present)))
            notes[REVISION] = str(highest)

    def _compute_next_revision(self) -> int:
        return max((get_set_revision(each) for each in self.old), default=0) + 1

    def _build_size_annotations(self) -> dict[str, str]:
        total = self.replicas + self.limits.surge
        return {DESIRED: str(self.replicas), MAXIMUM: str(total)}

    def _was_scaled(self) -> bool:
        """Whether the replicas of the deployment changed since its sets were last sized."""
        return any(
            get_annotations(each).get(DESIRED, str(self.replicas)) != str(self.replicas)
            for each in self.sets
            if get_replicas(each)
        )

    def _scale_proportionally(self) -> dict[str, int]:
        active = [each for each in self.sets if get_replicas(each)]
        if len(active) <= 1:
            only = active[0] if active else self.new
            return {} if only is None else {get_uid(only): self.replicas}
        if self.new is not None and is_saturated(self.new, self.replicas):
            return {get_uid(each): 0 for each in self.old}
        if self.is_recreate:
            return {}
        newest_first = active[::-1]
        former = [parse_digits(get_annotations(each).get(MAXIMUM)) or 0 for each in newest_first]
        sizes = [get_replicas(each) for each in newest_first]
        scaled = scale_proportionally(self.replicas, self.limits, sizes, former)
        return {get_uid(each): size for each, size in zip(newest_first, scaled, strict=True)}

    def _delete_old_sets(self) -> Iterator[Action]:
        """Delete the oldest revisions once the rollout is complete."""
        limit = get_spec(self.deployment).get("revisionHistoryLimit")
        if limit is None or not report.is_complete(self.deployment, get_status(self.deployment)):
            return
        idle = [each for each in self.old if not is_deleting(each)]
        for each in sorted(idle, key=get_set_revision)[: max(0, len(idle) - limit)]:
            settled = get_status(each).get("observedGeneration", 0) >= get_generation(each)
            if not get_replicas(each) and not get_status(each).get("replicas") and settled:
                yield delete(REPLICA_SETS, each)

    def _build_event(self, set_name: str, before: int, after: int) -> Record:
        direction = "up" if after > before else "down"
        return Record(
            about=self.deployment,
            reason="ScalingReplicaSet",
            message=f"Scaled {direction} replica set {set_name} from {before} to {after}",
            component=_COMPONENT,
        )

    def _update_status(self, created: Object | None = None) -> Iterator[Action]:
        """Write the status, and the revision, if they changed."""
        observed = report.Observed(
            sets=self.sets, new=self.new, created=created, unavailable=self.limits.unavailable
        )
        new = report.compute(self.deployment, observed, self.view.now)
        notes = dict(get_annotations(self.deployment))
        current = created if created is not None else self.new
        if current is not None:
            notes[REVISION] = (
                get_annotations(current)[REVISION]
                if created is not None
                else self._build_annotations(current)[REVISION]
            )
        if new != get_status(self.deployment) or notes != get_annotations(self.deployment):
            metadata = {"annotations": notes or None}
            write = update_last if not self.old and report.is_reported_complete(new) else update
            yield write(DEPLOYMENTS, self.deployment, "status", metadata=metadata, status=new)
        if (wait := report.compute_time_left(self.deployment, new, self.view.now)) is not None:
            yield Requeue(wait)
