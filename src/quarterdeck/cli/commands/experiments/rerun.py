"""`quarterdeck experiments rerun`: the same experiment again, as a new object."""

from typing import TYPE_CHECKING, Annotated

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
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.apis.experiments.v1alpha1 import Experiment

RERUN_OF = "experiments.illm.io/rerun-of"
_OWN_PREFIXES = ("sim.illm.io/",)


async def rerun(
    name: ExperimentName,
    new_name: Annotated[
        str, Option("--name", metavar="NAME", help="Name of the new run (default: NAME-2, NAME-3).")
    ] = "",
    repeats: Annotated[
        int, Option("--repeats", metavar="N", help="Run the workflow N times.", minimum=1)
    ] = 0,
    watch: WatchRun = False,
    junit: Junit = "",
    report: JsonReport = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Run a finished experiment again. The earlier run stays, so that both can be compared."""
    from quarterdeck.apis.experiments.v1alpha1 import Experiment

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        earlier = await get_experiment(client, name, where)
        if earlier.status.phase not in FINISHED:
            phase = earlier.status.phase or "Pending"
            raise CommandError(
                f"experiment {where}/{name} is {phase}; wait until it has ended", FAILED
            )
        taken = {each.metadata.name for each in await client.list(Experiment, where)}
        chosen = new_name or find_free_name(name, taken)
        created = await client.create(build_copy(earlier, chosen, repeats=repeats))
        print(f"experiment.experiments.illm.io/{created.metadata.name} created", flush=True)
        if not (watch or junit or report):
            return OK
        done = await follow(client, chosen, where)
        code = await finish(client, done, junit=junit, report=report)
        print(f"compare: quarterdeck experiments compare {name} {chosen} -n {where}")
        return code


COMMAND = Command(rerun)


def find_free_name(name: str, taken: set[str]) -> str:
    """Find the first free name of the form NAME-2, NAME-3; a number at the end is counted on."""
    from quarterdeck.apis.experiments.v1alpha1 import MAX_NAME

    stem, _, digits = name.rpartition("-")
    base = stem if stem and digits.isdigit() and len(digits) <= 3 else name
    number = 2
    while True:
        suffix = f"-{number}"
        found = base[: MAX_NAME - len(suffix)].rstrip("-") + suffix
        if found not in taken:
            return found
        number += 1


def build_copy(earlier: "Experiment", name: str, *, repeats: int = 0) -> "Experiment":
    """Build an experiment of the same spec; only annotations of simulators are kept."""
    import msgspec

    from quarterdeck.apis.experiments.v1alpha1 import Experiment
    from quarterdeck.meta.objects import ObjectMeta

    kept = {
        key: value
        for key, value in earlier.metadata.annotations.items()
        if key.startswith(_OWN_PREFIXES)
    }
    spec = msgspec.structs.replace(earlier.spec, terminate=False, suspend=False)
    if repeats:
        spec = msgspec.structs.replace(spec, repeats=repeats)
    return Experiment(
        metadata=ObjectMeta(
            name=name,
            namespace=earlier.metadata.namespace,
            labels=earlier.metadata.labels,
            annotations={**kept, RERUN_OF: earlier.metadata.name},
        ),
        spec=spec,
    )
