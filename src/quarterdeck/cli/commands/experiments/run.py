"""`quarterdeck experiments run`: apply an experiment and follow it to its end."""

from typing import TYPE_CHECKING

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import FAILED, OK, CommandError
from quarterdeck.cli.experiments import (
    FINISHED,
    Document,
    ExperimentFiles,
    JsonReport,
    Junit,
    WatchRun,
    finish,
    follow,
    is_kind,
    read_manifests,
)
from quarterdeck.cli.flags import Context, Kubeconfig, Namespace
from quarterdeck.cli.resource_paths import check_namespace

if TYPE_CHECKING:
    from quarterdeck.client.client import Client


async def run(
    files: ExperimentFiles,
    watch: WatchRun = False,
    junit: Junit = "",
    report: JsonReport = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Apply the objects of files, Experiments last, and follow the Experiments with --watch."""
    documents = read_manifests(files)
    others = [each for each in documents if not is_kind(each, "Experiment")]
    experiments = [each for each in documents if is_kind(each, "Experiment")]
    if (junit or report) and len(experiments) > 1:
        raise CommandError("--junit and --json need a file with one Experiment", FAILED)
    code = OK
    async with connect(kubeconfig, context) as client:
        await check_namespace(client, documents, namespace)
        for document in experiments:
            await _refuse_finished(client, document, namespace)
        for document in (*others, *experiments):
            await with_progress(
                _apply(client, document, namespace=namespace), f"applying {document['kind']}"
            )
        if watch or junit or report:
            for document in experiments:
                name, where = (
                    document["metadata"]["name"],
                    _choose_namespace(client, document, namespace),
                )
                done = await follow(client, name, where)
                code = max(code, await finish(client, done, junit=junit, report=report))
    return code


COMMAND = Command(run)


def _choose_namespace(client: "Client", document: Document, namespace: str) -> str:
    return namespace or document["metadata"].get("namespace") or client.namespace


async def _refuse_finished(client: "Client", document: Document, namespace: str) -> None:
    """An experiment runs once: applying a finished one again would do nothing.

    Raises:
        CommandError: naming the command that runs it again, and what to do with a changed file.
    """
    from quarterdeck.apis.experiments.v1alpha1 import Experiment
    from quarterdeck.wire.status import NotFound

    name, where = document["metadata"]["name"], _choose_namespace(client, document, namespace)
    try:
        found = await client.get(Experiment, name, where)
    except NotFound:
        return
    if found.status.phase in FINISHED:
        raise CommandError(
            f"experiment {where}/{name} is {found.status.phase} already; run it again as it was "
            f"with: quarterdeck experiments rerun {name} -n {where}; to run a changed file, change "
            "metadata.name in it, or delete the experiment first",
            FAILED,
        )


async def _apply(client: "Client", document: Document, *, namespace: str) -> None:
    from quarterdeck.cli.commands.apply import FIELD_MANAGER, find_resource
    from quarterdeck.cli.output import format_reference
    from quarterdeck.client.interfaces import PatchType
    from quarterdeck.kit import json
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import PatchOptions

    found = await find_resource(client, document)
    where = _choose_namespace(client, document, namespace) if found.namespaced else ""
    metadata = {**document["metadata"]}
    if found.namespaced:
        metadata["namespace"] = where
    path = ResourcePath(*found.gvr, where, metadata["name"])
    body = json.encode({**document, "metadata": metadata})
    await client.raw.patch(path, body, PatchType.APPLY, PatchOptions(field_manager=FIELD_MANAGER))
    print(
        f"{format_reference(document, document['kind'].lower(), found.gvr.group)} applied",
        flush=True,
    )
