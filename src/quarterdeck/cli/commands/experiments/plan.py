"""`quarterdeck experiments plan`: what an experiment would create and cost."""

import sys
from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import FAILED, OK
from quarterdeck.cli.experiments import (
    Document,
    ExperimentFiles,
    decode_component,
    decode_experiment,
    is_kind,
    read_manifests,
)
from quarterdeck.cli.flags import Context, Form, Kubeconfig, Namespace, Output
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.apis.experiments.v1alpha1 import Component
    from quarterdeck.operators.experiments.preview import Preview


async def plan(
    files: ExperimentFiles,
    offline: Annotated[
        bool,
        Option("--offline", help="Use only the Components of the files; connect to nothing."),
    ] = False,
    output: Output = Form.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Check experiments and show what they would create and cost. Nothing is written."""
    from quarterdeck.operators.experiments.preview import preview
    from quarterdeck.operators.experiments.settings import Settings

    documents = read_manifests(files)
    components: dict[str, Component] = {}
    home = namespace or "default"
    if not offline:
        async with connect(kubeconfig, context) as client:
            from quarterdeck.apis.experiments.v1alpha1 import Component as Kind

            home = namespace or client.namespace
            listed = await with_progress(
                client.list(Kind), f"reading Components of {client.config.server}"
            )
            components = {each.metadata.name: each for each in listed}
    for document in documents:
        if is_kind(document, "Component"):
            components[document["metadata"]["name"]] = decode_component(document)
    failed = False
    for document in documents:
        if is_kind(document, "Experiment"):
            where = namespace or document["metadata"].get("namespace") or home
            found = preview(decode_experiment(document, where), components, Settings())
            failed |= bool(found.problems)
            _print(found, output)
    return FAILED if failed else OK


COMMAND = Command(plan)


def _print(found: "Preview", output: Form) -> None:
    from quarterdeck.cli.output import documents, reference
    from quarterdeck.operators.experiments.preview import describe
    from quarterdeck.operators.experiments.settings import Settings

    if found.problems:
        count = len(found.problems)
        noun = "error" if count == 1 else "errors"
        print(f"Experiment {found.experiment.key}: {count} {noun}", file=sys.stderr)
        for problem in found.problems:
            print(f"  {problem}", file=sys.stderr)
        return
    if output is Form.TABLE:
        print("\n".join(describe(found, Settings())))
        return
    planned: list[Document] = [dict(each) for each in found.documents]
    if output is Form.NAME:
        for each in planned:
            group = each["apiVersion"].rpartition("/")[0]
            print(reference(each, each["kind"].lower(), group))
        return
    print(documents(planned, output))
