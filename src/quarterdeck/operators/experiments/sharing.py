"""Copies kubeconfigs of dependencies to the clusters of their dependents.

A load generator often has to read from the cluster it loads. Its namespace gets a Secret
`<dependency>-cluster-kubeconfig` for each direct dependency whose cluster was made for the
experiment. Kubeconfigs of existing clusters are never copied.
"""

from typing import Any

from quarterdeck.apis.core.config import Namespace, Secret
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.operators.experiments import naming, registration
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.operators.experiments.run import Run


async def share_kubeconfigs(run: Run, target: Target) -> str:
    """Copy the kubeconfigs of direct dependencies; returns why it failed, empty if it did not."""
    documents: list[dict[str, Any]] = []
    for name in target.depends:
        source = next(each for each in run.targets if each.name == name)
        is_own = run.environment.adapters[source.cluster.type].kind is not None
        text = await registration.read_target_kubeconfig(run, source) if is_own else None
        if text is not None:
            documents.append(build_secret(run, name, target.name, text))
    if not documents:
        return ""
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": naming.build_base_name(run.ctx.obj),
            "labels": naming.build_labels(run.ctx.obj),
        },
    }
    if target.cluster.type == naming.HUB:
        await run.ctx.api.apply(Namespace, namespace)
        for document in documents:
            await run.ctx.api.apply(Secret, document)
        return ""
    own = await registration.read_target_kubeconfig(run, target)
    if own is None:
        return f"the kubeconfig of target {target.name} was deleted"
    try:
        await run.environment.targets.apply(own, [namespace, *documents])
    except (TargetRefused, TargetUnreachable) as error:
        return f"target {target.name}: {error}"
    return ""


def build_secret(run: Run, source: str, target: str, text: bytes) -> dict[str, Any]:
    """The copy of a dependency's kubeconfig."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{source}-cluster-kubeconfig",
            "namespace": naming.build_base_name(run.ctx.obj),
            "labels": naming.build_labels(run.ctx.obj, target=target),
        },
        "type": "Opaque",
        "stringData": {"kubeconfig": text.decode()},
    }
