"""Which template of a simulated hypervisor is meant."""

from quarterdeck.operators.machines.drivers.simulator.world import SimulatedVM, Simulator
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import TemplateInfo, TemplateRef


def find_template(world: Simulator, wanted: TemplateRef) -> TemplateInfo:
    """The one template meant.

    Raises:
        ConfigurationError: TEMPLATE_NOT_FOUND, AMBIGUOUS or NOT_A_TEMPLATE.
    """
    found = [vm for vm in world.vms.values() if _is_meant(vm, wanted)]
    shown = wanted.id or wanted.name or ",".join(wanted.tags)
    if not found:
        raise make_error(Code.TEMPLATE_NOT_FOUND, f"template {shown} not found")
    if len(found) > 1:
        raise make_error(Code.AMBIGUOUS, f"{len(found)} templates match {shown}")
    vm = found[0]
    if not vm.is_template:
        raise make_error(Code.NOT_A_TEMPLATE, f"VM {vm.id} is not a template")
    return TemplateInfo(
        vm.id,
        vm.name,
        tuple(world.nodes),
        vm.disk_bytes,
        has_agent=True,
        os="linux",
        storage_type="sim",
        tags=vm.tags,
    )


def _is_meant(vm: SimulatedVM, wanted: TemplateRef) -> bool:
    """Tags decide where there are any, then the id, which may be that of no template."""
    if wanted.tags:
        return vm.is_template and set(wanted.tags) <= set(vm.tags)
    if wanted.id:
        return vm.id == wanted.id
    return vm.is_template and vm.name == wanted.name
