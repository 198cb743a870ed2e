"""Resolves references to templates of a simulated hypervisor."""

from quarterdeck.operators.machines.drivers.simulator.world import SimulatedVM, Simulator
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import TemplateInfo, TemplateRef


def find_template(world: Simulator, wanted: TemplateRef) -> TemplateInfo:
    """Find the template that a reference matches.

    Raises:
        ConfigurationError: TEMPLATE_NOT_FOUND, AMBIGUOUS or NOT_A_TEMPLATE.
    """
    found = [vm for vm in world.vms.values() if _matches_reference(vm, wanted)]
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


def _matches_reference(vm: SimulatedVM, wanted: TemplateRef) -> bool:
    """Whether a reference matches: by tags if it has any, then by id, then by name.

    An id also matches a VM that is not a template, so that the error can name the cause.
    """
    if wanted.tags:
        return vm.is_template and set(wanted.tags) <= set(vm.tags)
    if wanted.id:
        return vm.id == wanted.id
    return vm.is_template and vm.name == wanted.name
