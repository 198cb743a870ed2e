"""Takes over experiments that the original operator began: labels its objects as ours.

The original labels less than we do: a claim and Argo CD's Secret name their cluster, Applications
and Workflows name the experiment without its namespace. Its names are those that we derive for
experiments in the namespace `experiments`. So everything is found by name, gets our labels, and the
experiment is checked again from its first phase: each step finds what is there.

In another namespace our names differ, and a step would make a second cluster. Such an experiment is
left alone until the original, or a person, has ended it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quarterdeck.apis.experiments.status import (
    AdoptedApplications,
    ExperimentStatus,
    TargetStatus,
)
from quarterdeck.meta.conditions import TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.argocd import LAYERS
from quarterdeck.operators.experiments.conditions import RESULTS_COLLECTED, EventReason, Reason
from quarterdeck.operators.experiments.foreign import ArgoApplication, ArgoWorkflow, OwnSecretHead
from quarterdeck.operators.experiments.run import Run
from quarterdeck.wire.status import NotFound


class OriginalObject(NamedTuple):
    """An object that the original creates, and the label by which it is recognized."""

    kind: type[Object]
    key: Key
    label: str
    value: str
    target: str = ""


def is_foreign(status: ExperimentStatus) -> bool:
    """Whether another operator wrote the status: ours sets `targetCount` first of all."""
    return bool(status.phase) and not status.target_count


def is_adoptable(run: Run) -> bool:
    """Whether our names of objects equal those of the original, as only in `naming.HOME`."""
    return run.ctx.key.namespace == naming.HOME


def refuse(run: Run) -> str:
    """Report in the status why the experiment is not taken over; returns the message."""
    message = (
        f"this experiment was started by another operator in namespace {run.ctx.key.namespace}; "
        "only "
        f"experiments in namespace {naming.HOME} can be taken over while they run: let that "
        "operator finish or delete it"
    )
    run.set_reason(Reason.NOT_TAKEN_OVER, message)
    return message


async def adopt(run: Run) -> None:
    """Label what the original created, then start again at Pending unless the run has ended."""
    found = await mark_objects(run)
    run.set(target_count=len(run.targets))
    shown = ", ".join(f"{each.kind.KIND.kind} {each.key}" for each in found)
    message = f"started by another operator, taken over: {shown or 'nothing was made for it yet'}"
    run.ctx.event(EventReason.TAKEN_OVER, message)
    if run.is_finished:
        _keep_results(run)
        return
    run.set(targets=tuple(_begin_target(run, each.name, found) for each in run.targets))
    run.enter_phase("Pending", Reason.PROVISIONING, "taken over from another operator")


def _begin_target(run: Run, name: str, found: Sequence[OriginalObject]) -> TargetStatus:
    """Build the initial status of a target, with the names that the original chose."""
    apps = [each.key.name for each in found if each.kind is ArgoApplication and each.target == name]
    division: AdoptedApplications = ""
    if apps:
        division = "Single" if apps == [f"{run.ctx.key.name}-{name}"] else "PerTarget"
    return TargetStatus(
        name=name,
        phase="Pending",
        cluster_name=run.get_target(name).cluster_name,
        adopted_applications=division,
    )


def _keep_results(run: Run) -> None:
    """Mark results that the original has stored, so that they are not collected again."""
    if run.status.results_url:
        message = "stored by the operator that started the experiment"
        run.set_condition(RESULTS_COLLECTED, TRUE, Reason.COLLECTED, message)


async def mark_objects(run: Run) -> list[OriginalObject]:
    """Label the objects that the original created for the experiment, and return them."""
    found = []
    for made in _list_made(run):
        try:
            current = await run.ctx.api.get_live(made.kind, made.key)
        except NotFound:
            continue
        if not _is_made(current.metadata.labels, made):
            continue
        labels = naming.build_labels(run.ctx.obj, target=made.target)
        await run.ctx.api.merge(made.kind, made.key, {"metadata": {"labels": labels}})
        found.append(made)
    return found


def _is_made(labels: Mapping[str, str], made: OriginalObject) -> bool:
    return labels.get(made.label) == made.value and naming.LABEL_NAMESPACE not in labels


def _list_made(run: Run) -> Iterator[OriginalObject]:
    """Every object that the original may have created, whether or not it exists."""
    name, settings = run.ctx.key.name, run.settings
    for target in run.targets:
        base = f"{name}-{target.name}"
        cluster = run.get_target(target.name).cluster_name or base
        adapter = run.environment.adapters[target.cluster.type]
        if adapter.kind is not None:
            place = Key(adapter.get_namespace(run.ctx.obj), cluster)
            yield OriginalObject(adapter.kind, place, naming.LABEL_CLUSTER, cluster, target.name)
            secret = Key(settings.argocd_namespace, naming.build_cluster_secret_name(cluster))
            yield OriginalObject(OwnSecretHead, secret, naming.LABEL_CLUSTER, cluster, target.name)
        for app in (base, *(f"{base}-{layer}" for layer in LAYERS)):
            place = Key(settings.argocd_namespace, app)
            yield OriginalObject(ArgoApplication, place, naming.LABEL_EXPERIMENT, name, target.name)
        copy = Key(
            run.ctx.key.namespace, naming.build_kubeconfig_secret_name(run.ctx.obj, target.name)
        )
        yield OriginalObject(OwnSecretHead, copy, naming.LABEL_EXPERIMENT, name, target.name)
    workflow = Key(settings.workflow_namespace, naming.build_workflow_name(run.ctx.obj))
    yield OriginalObject(ArgoWorkflow, workflow, naming.LABEL_EXPERIMENT, name)
