"""`quarterdeck pipelines promote`: end a rollout, or one step of it."""

from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument, Option


async def promote(
    name: Annotated[str, Argument(metavar="PIPELINE", help="Name of the Pipeline.")],
    step: Annotated[
        bool, Option("--step", help="End only the current step of the rollout.")
    ] = False,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Send the candidate of a rollout to every collector, or take the next step."""
    from quarterdeck.apis.fleetmanagement.names import PROMOTE
    from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        pipeline = await client.get(Pipeline, name, where)
        status = pipeline.status.rollout
        if status is None or not status.candidate or status.phase == "Promoted":
            raise CommandError(f"pipeline {name} has no rollout in progress", REFUSED)
        value = f"{status.candidate}:{status.step}" if step else status.candidate
        await client.resource(Pipeline.KIND.gvr).patch(
            name, {"metadata": {"annotations": {PROMOTE: value}}}, namespace=where
        )
    what = (
        f"promoted past step {status.step + 1} of {status.steps}"
        if step
        else "promoted to all collectors"
    )
    result = {"pipeline": name, "namespace": where, "promoted": value}
    print_result(result, f"pipeline {name}: {what}", as_json=json)


COMMAND = Command(promote)
