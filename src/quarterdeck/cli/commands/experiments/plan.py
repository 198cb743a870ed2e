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
from quarterdeck.cli.flags import Context, Form, Kubeconfig, Namespace, Output, split_names
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quarterdeck.apis.experiments.v1alpha1 import Component
    from quarterdeck.client.client import Client
    from quarterdeck.operators.experiments.preview import Preview
    from quarterdeck.operators.experiments.settings import Settings

ArgocdNamespace = Annotated[
    str,
    Option(
        "--argocd-namespace",
        metavar="NAME",
        env="ARGOCD_NAMESPACE",
        help="Namespace of Argo CD; must equal the setting of the operator.",
    ),
]
WorkflowNamespace = Annotated[
    str,
    Option(
        "--workflow-namespace",
        metavar="NAME",
        env="WORKFLOW_NAMESPACE",
        help="Namespace of Argo Workflows; must equal the setting of the operator.",
    ),
]
ClusterApi = Annotated[
    str,
    Option(
        "--cluster-api",
        metavar="A,B",
        env="EXPERIMENTS_CLUSTER_API",
        help="Cluster types that the operator requests from Cluster API: talos, vcluster.",
    ),
]
ClusterTypes = Annotated[
    str,
    Option(
        "--cluster-types",
        metavar="FILE",
        env="EXPERIMENTS_CLUSTER_TYPES",
        help="File with the kinds that request clusters; must equal the setting of the operator.",
    ),
]


async def plan(
    files: ExperimentFiles,
    offline: Annotated[
        bool,
        Option("--offline", help="Use only the Components of the files; connect to nothing."),
    ] = False,
    output: Output = Form.TABLE,
    argocd_namespace: ArgocdNamespace = "argocd",
    workflow_namespace: WorkflowNamespace = "argo-workflows",
    cluster_api: ClusterApi = "",
    cluster_types: ClusterTypes = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Check experiments and show what they would create and cost. Nothing is written."""
    from quarterdeck.app.experiments_options import build_operator_settings
    from quarterdeck.app.experiments_settings import Settings as Given
    from quarterdeck.operators.experiments.preview import preview

    given = Given(
        argocd_namespace=argocd_namespace,
        workflow_namespace=workflow_namespace,
        cluster_api=tuple(split_names(cluster_api)),
        cluster_types=cluster_types,
    )
    settings = build_operator_settings(given, is_embedded=False)
    documents = read_manifests(files)
    known = Known(workflow_namespace)
    if not offline:
        async with connect(kubeconfig, context) as client:
            await with_progress(known.read(client), f"reading {client.config.server}")
    known.add(documents)
    failed = False
    for document in documents:
        if is_kind(document, "Experiment"):
            where = namespace or document["metadata"].get("namespace") or known.namespace
            experiment = decode_experiment(document, where)
            found = preview(experiment, known.components, settings)
            missing = known.find_missing(found)
            failed |= bool(found.problems or missing)
            _print(found, output, settings)
            for each in missing:
                print(f"  {each}", file=sys.stderr)
    return FAILED if failed else OK


COMMAND = Command(plan)


class Known:
    """Components and WorkflowTemplates there are, in the cluster and in the files."""

    def __init__(self, workflow_namespace: str) -> None:
        self.namespace = "default"
        self._workflow_namespace = workflow_namespace
        self.components: dict[str, Component] = {}
        self._templates: dict[str, tuple[str, ...]] = {}
        """By name: the parameters that an experiment must give."""
        self._knows_templates = False

    async def read(self, client: "Client") -> None:
        """Add what the cluster has; kinds that are not installed have no objects."""
        from quarterdeck.apis.experiments.v1alpha1 import Component
        from quarterdeck.kit import json
        from quarterdeck.operators.experiments.foreign import WorkflowTemplate
        from quarterdeck.operators.experiments.workflows import list_required
        from quarterdeck.wire.status import NotFound

        self.namespace = client.namespace
        for component in await client.list(Component):
            self.components[component.metadata.name] = component
        try:
            found = await client.list(WorkflowTemplate, self._workflow_namespace)
            for each in found:
                self._templates[each.metadata.name] = list_required(json.decode(each.spec))
            self._knows_templates = True
        except NotFound:
            pass

    def add(self, documents: "Sequence[Document]") -> None:
        """Add what the files have; they win over the cluster."""
        from quarterdeck.operators.experiments.workflows import list_required

        for document in documents:
            name = document["metadata"]["name"]
            if is_kind(document, "Component"):
                self.components[name] = decode_component(document)
            elif document["kind"] == "WorkflowTemplate":
                self._templates[name] = list_required(document.get("spec"))
                self._knows_templates = True

    def find_missing(self, found: "Preview") -> list[str]:
        """What the workflow lacks: its template, or values of it; empty if that is unknown."""
        workflow = found.experiment.spec.workflow
        if not self._knows_templates or workflow.cluster_scope or found.problems:
            return []
        key = f"{self._workflow_namespace}/{workflow.template}"
        required = self._templates.get(workflow.template)
        if required is None:
            if workflow.on_missing_template == "Inline":
                return []
            advice = "create the WorkflowTemplate, or set onMissingTemplate to Inline"
            return [f"spec.workflow.template: Not found: {key}; {advice}"]
        arguments = found.workflow["spec"]["arguments"]["parameters"]
        given = {each["name"] for each in arguments}
        return [
            f"spec.workflow.params.{name}: Required value: WorkflowTemplate {key} has no default "
            "for it"
            for name in required
            if name not in given
        ]


def _print(found: "Preview", output: Form, settings: "Settings") -> None:
    from quarterdeck.cli.output import format_documents, format_reference
    from quarterdeck.operators.experiments.preview import describe

    if found.problems:
        count = len(found.problems)
        noun = "error" if count == 1 else "errors"
        print(f"Experiment {found.experiment.key}: {count} {noun}", file=sys.stderr)
        for problem in found.problems:
            print(f"  {problem}", file=sys.stderr)
        return
    if output is Form.TABLE:
        print("\n".join(describe(found, settings)))
        return
    planned: list[Document] = [dict(each) for each in found.documents]
    if output is Form.NAME:
        for each in planned:
            group = each["apiVersion"].rpartition("/")[0]
            print(format_reference(each, each["kind"].lower(), group))
        return
    print(format_documents(planned, output))
