"""What the commands of `quarterdeck experiments` share: manifests, following a run, results."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.exit_codes import FAILED, OK, REFUSED, CommandError
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.apis.experiments.status import TargetStatus
    from quarterdeck.apis.experiments.v1alpha1 import Component, Experiment
    from quarterdeck.client.client import Client
    from quarterdeck.operators.experiments.results.document import Result
    from quarterdeck.operators.experiments.results.report import Report

Document = dict[str, Any]
GROUP = "experiments.illm.io"
FINISHED = ("Complete", "Failed")
RESUME = "quarterdeck experiments resume"

ExperimentFiles = Annotated[
    list[str],
    Argument(
        metavar="FILE", help="File or folder with Experiments and Components; - for standard input."
    ),
]
ExperimentName = Annotated[str, Argument(metavar="NAME", help="Name of the experiment.")]
WatchRun = Annotated[
    bool, Option("--watch", "-w", help="Follow the run; exit 1 if one of its checks fails.")
]
Junit = Annotated[str, Option("--junit", metavar="PATH", help="Write a JUnit report to this file.")]
JsonReport = Annotated[
    str, Option("--json", metavar="PATH", help="Write a JSON report to this file.")
]


# --- manifests


def read_manifests(paths: Sequence[str]) -> list[Document]:
    """Every object of the files, at least one of them an Experiment.

    Raises:
        CommandError: if there is none.
    """
    from quarterdeck.cli import manifest_files

    documents = manifest_files.read(paths, flag="FILE")
    if not any(is_kind(each, "Experiment") for each in documents):
        shown = ", ".join(paths)
        raise CommandError(f"{shown}: no Experiment of {GROUP}/v1alpha1 found", REFUSED)
    return documents


def is_kind(document: Mapping[str, Any], kind: str) -> bool:
    """Whether a manifest is of one of our kinds."""
    return bool(document["kind"] == kind and document["apiVersion"].startswith(f"{GROUP}/"))


def decode_experiment(document: Document, namespace: str) -> "Experiment":
    """An Experiment that fits its schema, in the namespace it would be created in.

    Raises:
        CommandError: with every field that does not fit.
    """
    from quarterdeck.apis.experiments.v1alpha1 import Experiment

    metadata = {**document["metadata"], "namespace": namespace}
    found: Experiment = _decode(Experiment, {**document, "metadata": metadata})
    return found


def decode_component(document: Document) -> "Component":
    """A Component that fits its schema. Raises `CommandError` like `decode_experiment`."""
    from quarterdeck.apis.experiments.v1alpha1 import Component

    found: Component = _decode(Component, document)
    return found


def _decode(kind: Any, document: Document) -> Any:
    from quarterdeck.kit import json
    from quarterdeck.meta import crd
    from quarterdeck.meta.objects import decode
    from quarterdeck.meta.structural import compile_schema

    errors = compile_schema(crd.build_schema(kind)).validate(document)
    if errors:
        text = "; ".join(str(error) for error in errors)
        name = document["metadata"]["name"]
        raise CommandError(f"{document['kind']} {name} is invalid: {text}", FAILED)
    return decode(kind, json.encode(document))


# --- experiments of the cluster


async def get_experiment(client: "Client", name: str, namespace: str) -> "Experiment":
    """An experiment of the cluster.

    Raises:
        CommandError: if there is none, with the namespaces that have one of that name.
    """
    from quarterdeck.apis.experiments.v1alpha1 import Experiment
    from quarterdeck.wire.query import ListOptions
    from quarterdeck.wire.status import ApiError, NotFound

    try:
        return await client.get(Experiment, name, namespace)
    except NotFound as error:
        message = f"experiment {namespace}/{name} not found"
        try:
            options = ListOptions(field_selector=f"metadata.name={name}")
            found = await client.list(Experiment, options=options)
        except ApiError:
            found = []
        if found:
            others = ", ".join(sorted(each.metadata.namespace for each in found))
            message += f"; it exists in namespace {others}: set it with -n"
        raise CommandError(message, FAILED) from error


# --- following a run


async def follow(client: "Client", name: str, namespace: str) -> "Experiment":
    """Print every change of phase or reason until the run is over and cleaned up.

    Raises:
        CommandError: if the experiment is deleted meanwhile.
    """
    shown = ""
    async for experiment in changes(client, name, namespace):
        line = describe(experiment)
        if line != shown:
            print_line(line)
            shown = line
        if is_over(experiment):
            return experiment
    raise CommandError(f"experiment {namespace}/{name} was deleted while it ran", FAILED)


def is_over(experiment: "Experiment") -> bool:
    """Whether nothing is left to do: finished, results stored, resources cleaned up or kept."""
    from quarterdeck.meta.conditions import find

    status = experiment.status
    if status.phase not in FINISHED or not status.results_url:
        return False
    cleaned = find(status.conditions, "ResourcesCleaned")
    kept = cleaned is not None and cleaned.reason in ("Retained", "Orphaned")
    return status.resources_cleaned or kept


def describe(experiment: "Experiment") -> str:
    """The state of an experiment in one line, which changes only when something has happened."""
    status = experiment.status
    phase = status.phase or "Pending"
    match phase:
        case "Provisioning" | "Ready":
            details = ", ".join(
                f"{each.name} {_describe_target_state(each)}" for each in status.targets
            )
        case "Complete" | "Failed" if not is_over(experiment):
            details = "collecting results" if not status.results_url else "cleaning up"
        case _:
            details = f"{status.reason}: {status.message}" if status.reason else ""
    if status.reason == "AwaitingResume" and RESUME not in details:
        metadata = experiment.metadata
        details += f"; end it with: {RESUME} {metadata.name} -n {metadata.namespace}"
    return f"{experiment.metadata.name}  {phase}  {details}".rstrip()


def _describe_target_state(target: "TargetStatus") -> str:
    if target.apps_ready:
        return "ready"
    if not target.ready_at:
        return "provisioning"
    return "deploying" if target.deployed_layers else "waiting"


async def changes(
    client: "Client", name: str, namespace: str
) -> AsyncGenerator["Experiment", None]:
    """Every state of an experiment, across the watches that the server ends; ends with it."""
    import msgspec

    from quarterdeck.apis.experiments.v1alpha1 import Experiment
    from quarterdeck.wire.query import ListOptions
    from quarterdeck.wire.status import Expired, Gone, NotFound

    options = ListOptions(watch=True, field_selector=f"metadata.name={name}")
    while True:
        try:
            async with client.watch(Experiment, namespace, options) as events:
                async for event in events:
                    if event.type == "DELETED":
                        return
                    version = event.object.metadata.resource_version
                    options = msgspec.structs.replace(options, resource_version=version)
                    yield event.object
        except (Expired, Gone):
            try:
                await client.get(Experiment, name, namespace)
            except NotFound:  # a new watch would not say so
                return
            options = msgspec.structs.replace(options, resource_version="")


# --- results and reports


async def read_result(client: "Client", url: str) -> "Result":
    """The stored result at an address.

    Raises:
        CommandError: if there is none, or it cannot be read.
    """
    import os

    from quarterdeck.app.experiment_results import build_storage_options
    from quarterdeck.app.experiments_settings import Settings
    from quarterdeck.operators.experiments.drivers.result_stores import UnknownStore, open_store
    from quarterdeck.operators.experiments.results.document import SUMMARY, ResultError, decode
    from quarterdeck.operators.experiments.results.ports import StoreUnavailable

    settings = Settings(s3_endpoint=os.environ.get("S3_ENDPOINT", ""))
    try:
        store = open_store(url, client, options=build_storage_options(settings, os.environ))
        return decode(await store.read(url, SUMMARY))
    except (StoreUnavailable, UnknownStore, ResultError) as error:
        raise CommandError(f"{url}: {error}", FAILED) from error


async def finish(client: "Client", experiment: "Experiment", *, junit: str, report: str) -> int:
    """Write the reports of a finished run; exit code 1 if one of its checks failed."""
    from quarterdeck.operators.experiments.results import report as reports

    status = experiment.status
    result = None
    if status.results_url not in ("", "disabled"):
        print_line(f"results: {status.results_url}")
        result = await read_result(client, status.results_url)
    built = reports.build(experiment, result)
    write_reports(built, junit=junit, report=report)
    if status.hypothesis_result:
        print_line(f"hypothesis: {status.hypothesis_result}")
    for check in built.checks:
        if check.outcome == "failed":
            print_line(f"failed: {check.name}: {check.message}")
    return FAILED if built.has_failed else OK


def write_reports(built: "Report", *, junit: str, report: str) -> None:
    """Write the reports that were asked for.

    Raises:
        CommandError: naming the file that cannot be written.
    """
    from quarterdeck.operators.experiments.results.report import to_json, to_junit

    for path, flag, body in (
        (junit, "--junit", to_junit),
        (report, "--json", to_json),
    ):
        if path:
            try:
                Path(path).write_bytes(body(built))
            except OSError as error:
                reason = error.strerror or str(error)
                raise CommandError(f"cannot write {path} ({flag}): {reason}", FAILED) from error
