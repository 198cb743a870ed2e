"""The reconciler of HypervisorMachineTemplate: checks that it exists and that a machine fits."""

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.machines.cluster import is_ready
from quarterdeck.operators.machines.conditions import TEMPLATE_VALID, Reason
from quarterdeck.operators.machines.connection import Connection
from quarterdeck.operators.machines.connections import Connections
from quarterdeck.operators.machines.errors import HypervisorError
from quarterdeck.operators.machines.machine import TemplateInfo, TemplateRef
from quarterdeck.operators.machines.plan.placement import Request, compute_rooms, fits
from quarterdeck.operators.machines.recipe_checks import find_template_mistake
from quarterdeck.operators.machines.references import get_cluster_key, get_template_key, resolve
from quarterdeck.operators.machines.report import (
    report_condition,
    report_in_use,
    report_unsupported,
)
from quarterdeck.operators.machines.sizes import parse_bytes
from quarterdeck.operators.machines.support import find_unsupported_in_template
from quarterdeck.runtime import Context, RequeueAfter

CHECK_S = 300.0
RETRY_S = 30.0
VALID, INVALID = "Valid", "Invalid"


class Templates:
    """Reconciles HypervisorMachineTemplates."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def reconcile(
        self, template: HypervisorMachineTemplate, ctx: Context[HypervisorMachineTemplate]
    ) -> RequeueAfter:
        """Read the template from the hypervisor, and check that a machine of it can be made."""
        report_unsupported(ctx, find_unsupported_in_template(template))
        key = get_cluster_key(template)
        cluster = await ctx.find(HypervisorCluster, key.name, key.namespace)
        if cluster is None:
            return _reject(ctx, Reason.CLUSTER_NOT_FOUND, f"HypervisorCluster {key} not found")
        connection = self._connections.find(key)
        if not is_ready(cluster) or connection is None:
            return _reject(ctx, Reason.CLUSTER_NOT_READY, f"HypervisorCluster {key} is not ready")
        if mistake := find_template_mistake(template):
            return _reject(ctx, Reason.VALIDATION_FAILED, mistake)
        try:
            info = await read_template(connection, template)
            problem = await _find_problem(template, cluster, connection, info)
        except HypervisorError as error:
            return _reject(ctx, Reason.VALIDATION_FAILED, str(error))
        if problem:
            return _reject(ctx, Reason.VALIDATION_FAILED, problem)
        connection.cache_template(get_template_version(template), info)
        claims = [each for each in await ctx.list(MachineClaim) if _uses(each, template)]
        ctx.status.set(
            template_available=True,
            validation_status=VALID,
            last_validated=rfc3339.format_time(ctx.now()),
            template_id=info.id,
            claims=len(claims),
        )
        text = f"template {info.id} ({info.name}) exists and a machine fits"
        report_condition(ctx, TEMPLATE_VALID, TRUE, Reason.VALIDATION_SUCCEEDED, text)
        return RequeueAfter(CHECK_S)

    async def protect(
        self, template: HypervisorMachineTemplate, ctx: Context[HypervisorMachineTemplate]
    ) -> None:
        """Keep the template while something uses it; the step of its finalizer."""
        claims = [each for each in await ctx.list(MachineClaim) if _uses(each, template)]
        fleets = [
            each
            for each in await ctx.list(Fleet, namespace=template.metadata.namespace)
            if template.metadata.name in (each.spec.image, *_list_templates(each))
        ]
        pools = [
            each
            for each in await ctx.list(RunnerPool)
            if resolve(each.spec.template_ref, each.metadata.namespace) == template.key
        ]
        report_in_use(ctx, [*claims, *fleets, *pools])


def _reject(ctx: Context[HypervisorMachineTemplate], reason: Reason, message: str) -> RequeueAfter:
    ctx.status.set(template_available=False, validation_status=INVALID)
    report_condition(ctx, TEMPLATE_VALID, FALSE, reason, message)
    return RequeueAfter(RETRY_S)


def _uses(claim: MachineClaim, template: HypervisorMachineTemplate) -> bool:
    return get_template_key(claim) == template.key


def _list_templates(fleet: Fleet) -> list[str]:
    """Names of the templates of a fleet's newest revision, also those found by labels."""
    return fleet.status.revisions[-1].template.split(",") if fleet.status.revisions else []


async def read_template(
    connection: Connection, template: HypervisorMachineTemplate
) -> TemplateInfo:
    """Read the template from the hypervisor."""
    reference = build_reference(template)
    return await connection.call(
        "validate_template", lambda each: each.validate_template(reference)
    )


async def _find_problem(
    template: HypervisorMachineTemplate,
    cluster: HypervisorCluster,
    connection: Connection,
    info: TemplateInfo,
) -> str:
    """Why no machine can be made; empty if one fits on an empty node."""
    request = build_request(template)
    if info.disk_bytes > request.disk_bytes:
        return (
            f"spec.resources.disk is {template.spec.resources.disk}, but the template has "
            f"{info.disk_bytes >> 30} GiB and disks cannot shrink"
        )
    _, nodes = await connection.get_nodes()
    hints = cluster.spec.scheduler_hints
    adjustment = hints.memory_adjustment if hints is not None else 100
    empty = [
        node._replace(cpu_free=node.cpu_total, memory_free=node.memory_total)
        for node in nodes
        if node.name in cluster.spec.nodes and node.name in info.nodes
    ]
    if not empty:
        return f"none of spec.nodes has template {info.name}: it is on {', '.join(info.nodes)}"
    if not any(fits(room, request, adjustment) for room in compute_rooms(empty, {})):
        return "no node is large enough for spec.resources, even when it is empty"
    return ""


def build_request(template: HypervisorMachineTemplate) -> Request:
    """Build the request for the resources that a machine of a template needs."""
    resources = template.spec.resources
    return Request(resources.cpu, parse_bytes(resources.memory), parse_bytes(resources.disk))


def get_template_version(template: HypervisorMachineTemplate) -> tuple[str, int]:
    """Return UID and generation: one version of a template's spec, as a cache key."""
    return (template.metadata.uid, template.metadata.generation)


def build_reference(template: HypervisorMachineTemplate) -> TemplateRef:
    """Build the reference by which a provider finds the template."""
    source = template.spec.template
    if source.proxmox is not None:
        proxmox = source.proxmox
        return TemplateRef(proxmox.template_id or 0, proxmox.template_name, proxmox.template_tags)
    if source.libvirt is not None:
        image = source.libvirt
        options = {
            "kernel": image.kernel,
            "initrd": image.initrd,
            "command_line": image.command_line,
        }
        return TemplateRef(
            name=template.metadata.name,
            image=image.image,
            options={key: value for key, value in options.items() if value},
        )
    mock = source.mock
    return TemplateRef(name=mock.template_name if mock is not None else "")


def is_linked(template: HypervisorMachineTemplate) -> bool:
    """Whether machines are linked clones, which share the template's disk."""
    source = template.spec.template
    if source.proxmox is not None:
        return source.proxmox.linked_clone
    return source.libvirt is not None or (source.mock is not None and source.mock.linked_clone)
