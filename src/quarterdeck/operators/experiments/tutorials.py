"""Status of tutorials: addresses of Services and kubeconfigs for users who follow them."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.experiments.status import TutorialServiceStatus, TutorialStatus
from quarterdeck.apis.experiments.workflow import TutorialService
from quarterdeck.operators.experiments import naming, registration
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.operators.experiments.run import ExperimentFailed, Run


async def update(run: Run) -> None:
    """Find addresses of Services that have none yet; unreachable targets are retried later."""
    tutorial = run.ctx.obj.spec.tutorial
    if tutorial is None:
        return
    known = run.status.tutorial_status or TutorialStatus()
    before = {each.name: each for each in known.services}
    services = []
    for service in tutorial.services:
        found = before.get(service.name) or TutorialServiceStatus(name=service.name)
        if not found.ready and run.get_target(service.target).apps_ready:
            found = await _look_up(run, service)
        services.append(found)
    secrets = {
        each.name: each.kubeconfig_secret for each in run.status.targets if each.kubeconfig_secret
    }
    run.set(tutorial_status=TutorialStatus(services=tuple(services), kubeconfig_secrets=secrets))


async def _look_up(run: Run, service: TutorialService) -> TutorialServiceStatus:
    absent = TutorialServiceStatus(name=service.name)
    target = next(each for each in run.targets if each.name == service.target)
    namespace = naming.build_base_name(run.ctx.obj)
    places = dict.fromkeys((service.namespace, namespace))
    try:
        text = await registration.read_target_kubeconfig(run, target)
        if text is None and run.get_target(target.name).connection_secret:
            return absent  # its Secret was deleted; without a kubeconfig, the hub would be asked
        for place in places:
            found = await run.environment.targets.find_service(text, place, service.service)
            if found is not None:
                endpoint = find_address(found, service)
                return TutorialServiceStatus(
                    name=service.name, endpoint=endpoint, ready=bool(endpoint)
                )
    except (TargetRefused, TargetUnreachable, ExperimentFailed):
        return absent
    return absent


def find_address(service: Mapping[str, Any], wanted: TutorialService) -> str:
    """Find the address of a Service: its load balancer's, else its name in the cluster."""
    spec, metadata = service.get("spec") or {}, service["metadata"]
    ports = spec.get("ports") or [{}]
    port = wanted.port or ports[0].get("port") or 80
    balancer = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    if balancer:
        host = balancer[0].get("ip") or balancer[0].get("hostname") or ""
    elif spec.get("type") == "LoadBalancer":
        return ""
    else:
        host = f"{metadata['name']}.{metadata['namespace']}.svc"
    return host if port == 80 else f"{host}:{port}"
