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
    from collections.abc import Sequence

    from quarterdeck.apis.experiments.v1alpha1 import Component, Experiment
    from quarterdeck.client.client import Client
    from quarterdeck.operators.experiments.preview import Preview

_WORKFLOWS = "argo-workflows"


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
    known = Known()
    if not offline:
        async with connect(kubeconfig, context) as client:
            await with_progress(known.read(client), f"reading {client.config.server}")
    known.add(documents)
    failed = False
    for document in documents:
        if is_kind(document, "Experiment"):
            where = namespace or document["metadata"].get("namespace") or known.namespace
            experiment = decode_experiment(document, where)
            found = preview(experiment, known.components, Settings())
            missing = known.find_missing_template(experiment)
            failed |= bool(found.problems or missing)
            _print(found, output)
            if missing:
                print(f"  {missing}", file=sys.stderr)
    return FAILED if failed else OK


COMMAND = Command(plan)


class Known:
    """Components and WorkflowTemplates there are, in the cluster and in the files."""

    def __init__(self) -> None:
        self.namespace = "default"
        self.components: dict[str, Component] = {}
        self._templates: set[str] = set()
        self._knows_templates = False

    async def read(self, client: "Client") -> None:
        """Add what the cluster has; kinds that are not installed have no objects."""
        from quarterdeck.apis.experiments.v1alpha1 import Component
        from quarterdeck.operators.experiments.foreign import WorkflowTemplate
        from quarterdeck.wire.status import NotFound

        self.namespace = client.namespace
        for component in await client.list(Component):
            self.components[component.metadata.name] = component
        try:
            self._templates |= {
                each.metadata.name for each in await client.list(WorkflowTemplate, _WORKFLOWS)
            }
            self._knows_templates = True
        except NotFound:
            pass

    def add(self, documents: "Sequence[Document]") -> None:
        """Add what the files have; they win over the cluster."""
        for document in documents:
            name = document["metadata"]["name"]
            if is_kind(document, "Component"):
                self.components[name] = decode_component(document)
            elif document["kind"] == "WorkflowTemplate":
                self._templates.add(name)
                self._knows_templates = True

    def find_missing_template(self, experiment: "Experiment") -> str:
        """What to say of a template that does not exist; empty if it does, or nobody knows."""
        workflow = experiment.spec.workflow
        if (
            not self._knows_templates
            or workflow.cluster_scope
            or workflow.on_missing_template == "Inline"
            or workflow.template in self._templates
        ):
            return ""
        return (
            f"spec.workflow.template: Not found: {_WORKFLOWS}/{workflow.template}; create the "
            "WorkflowTemplate, or set onMissingTemplate to Inline"
        )


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
