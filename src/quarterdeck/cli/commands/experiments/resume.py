"""`quarterdeck experiments resume`: end an experiment that waits for a person."""

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import FAILED, OK, CommandError
from quarterdeck.cli.experiments import (
    FINISHED,
    ExperimentName,
    JsonReport,
    Junit,
    WatchRun,
    finish,
    follow,
    get_experiment,
)
from quarterdeck.cli.flags import Context, Kubeconfig, Namespace


async def resume(
    name: ExperimentName,
    watch: WatchRun = False,
    junit: Junit = "",
    report: JsonReport = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Let an experiment with completion mode manual end: results, then clean-up."""
    from quarterdeck.apis.experiments.v1alpha1 import RESUME

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        found = await get_experiment(client, name, where)
        mode = found.spec.workflow.completion.mode
        if mode != "manual":
            raise CommandError(
                f"experiment {where}/{name} has completion mode {mode}: it ends by itself; "
                "stop it with spec.terminate",
                FAILED,
            )
        if found.status.phase in FINISHED:
            raise CommandError(f"experiment {where}/{name} is {found.status.phase} already", FAILED)
        await client.patch(found, {"metadata": {"annotations": {RESUME: "true"}}})
        print(f"experiment.experiments.illm.io/{name} resumed", flush=True)
        if not (watch or junit or report):
            return OK
        done = await follow(client, name, where)
        return await finish(client, done, junit=junit, report=report)


COMMAND = Command(resume)
