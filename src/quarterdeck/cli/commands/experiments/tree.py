"""`quarterdeck experiments tree`: an experiment and everything that belongs to it."""

from typing import TYPE_CHECKING, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.experiments import ExperimentName, get_experiment
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result

if TYPE_CHECKING:
    from quarterdeck.apis.experiments.v1alpha1 import Experiment
    from quarterdeck.client.client import Client
    from quarterdeck.operators.experiments.foreign import ArgoApplication
    from quarterdeck.operators.experiments.tree import Node


async def tree(
    name: ExperimentName,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show targets, Applications, what they installed, workflows, verdict, cost and results."""
    from quarterdeck.operators.experiments import tree as trees

    async with connect(kubeconfig, context) as client:
        experiment = await get_experiment(client, name, namespace or client.namespace)
        applications = await _list_applications(client, experiment)
    root = trees.build(experiment, applications)
    print_result(_build_document(root), "\n".join(trees.draw(root)), as_json=json)


COMMAND = Command(tree)


def _build_document(node: "Node") -> dict[str, Any]:
    return {"text": node.text, "children": [_build_document(each) for each in node.children]}


async def _list_applications(client: "Client", experiment: "Experiment") -> "list[ArgoApplication]":
    """The Applications of an experiment; none where Argo CD is not installed."""
    from quarterdeck.operators.experiments.foreign import ArgoApplication
    from quarterdeck.operators.experiments.naming import LABEL_EXPERIMENT, LABEL_NAMESPACE
    from quarterdeck.wire.query import ListOptions
    from quarterdeck.wire.status import NotFound

    metadata = experiment.metadata
    labels = f"{LABEL_EXPERIMENT}={metadata.name},{LABEL_NAMESPACE}={metadata.namespace}"
    try:
        return list(await client.list(ArgoApplication, options=ListOptions(label_selector=labels)))
    except NotFound:
        return []
