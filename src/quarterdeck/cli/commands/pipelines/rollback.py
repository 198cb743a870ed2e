"""`quarterdeck pipelines rollback`: back to an earlier revision of a pipeline."""

from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineRevision


async def rollback(
    name: Annotated[str, Argument(metavar="PIPELINE", help="Name of the Pipeline.")],
    to: Annotated[
        str,
        Option(
            "--to", metavar="REVISION", help="Revision to roll back to (default: the previous one)."
        ),
    ] = "",
    clear: Annotated[
        bool, Option("--clear", help="End the rollback: send the contents of the spec again.")
    ] = False,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Send the configuration of an earlier revision to every collector, until it is cleared."""
    from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineRevision

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        pipeline = await client.get(Pipeline, name, where)
        target: str | None = None
        if not clear:
            revisions = await client.list(PipelineRevision, namespace=where)
            target = choose_revision(pipeline, revisions, to)
        await client.resource(Pipeline.KIND.gvr).patch(
            name, {"spec": {"rollbackTo": target}}, namespace=where
        )
    text = (
        "is no longer rolled back: its spec is sent again"
        if target is None
        else f"rolled back to revision {target}"
    )
    result = {"pipeline": name, "namespace": where, "rollbackTo": target}
    print_result(result, f"pipeline {name} {text}", as_json=json)


COMMAND = Command(rollback)


def choose_revision(
    pipeline: "Pipeline", revisions: "Sequence[PipelineRevision]", wanted: str
) -> str:
    """The revision to go back to: the one asked for, else the newest before the current one."""
    own = [each for each in revisions if each.spec.pipeline == pipeline.metadata.name]
    ids = [each.spec.revision_id for each in sorted(own, key=_order)]
    current = pipeline.status.rolled_back_to or pipeline.status.revision_id
    if wanted:
        _check_known(pipeline.metadata.name, ids, wanted)
        return wanted
    earlier = ids[: ids.index(current)] if current in ids else ids[:-1]
    if not earlier:
        raise CommandError(
            f"pipeline {pipeline.metadata.name} has no revision before {current or 'the first'}; "
            "list them with: kubectl get pipelinerevisions",
            REFUSED,
        )
    return earlier[-1]


def _check_known(pipeline: str, ids: list[str], wanted: str) -> None:
    """Refuse a revision that cannot exist; one older than those listed may be on the server."""
    is_older = ids and wanted.isdecimal() and ids[0].isdecimal() and int(wanted) < int(ids[0])
    if ids and wanted not in ids and not is_older:
        listed = ", ".join(ids)
        raise CommandError(
            f"pipeline {pipeline} has no revision {wanted}; available: {listed}", REFUSED
        )


def _order(revision: "PipelineRevision") -> tuple[str, int, str]:
    identity = revision.spec.revision_id
    return (revision.spec.created_at, int(identity) if identity.isdecimal() else 0, identity)
