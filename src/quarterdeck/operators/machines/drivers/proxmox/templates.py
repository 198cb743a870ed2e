"""Resolves references to templates: the nodes that one can be cloned on, and from which copy.

A template on local storage exists on its node only, so that the same template is made once for
each node, with another id each time. Several templates of one name (or of the same tags) on
different nodes therefore count as one; two of them on one node are ambiguous.
"""

from collections.abc import Sequence
from typing import NamedTuple

from quarterdeck.operators.machines.drivers.proxmox import vmconfig
from quarterdeck.operators.machines.drivers.proxmox.inventory import (
    ONLINE,
    SILENT,
    Inventory,
    Location,
)
from quarterdeck.operators.machines.drivers.proxmox.records import Config, Resource
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import TemplateInfo, TemplateRef

_NO_LINKED_CLONES = frozenset({"lvm", "iscsi", "iscsidirect"})


class Source(NamedTuple):
    """A template to clone from."""

    location: Location
    storage: str
    storage_type: str
    is_shared: bool

    @property
    def can_link(self) -> bool:
        """Whether clones may share its disk."""
        return self.storage_type not in _NO_LINKED_CLONES


class Templates:
    """Finds templates, and caches where each can be cloned from."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._sources: dict[int, tuple[Source, ...]] = {}

    async def find(self, wanted: TemplateRef) -> TemplateInfo:
        """Find the template that a reference matches.

        A copy on a node that does not answer is left out, unless there is no other.

        Raises:
            ConfigurationError: TEMPLATE_NOT_FOUND, AMBIGUOUS or NOT_A_TEMPLATE.
        """
        copies = choose_templates(await self._inventory.list_resources(), wanted)
        rows = [row for row in copies if row.status != SILENT] or copies
        first = rows[0]
        configs = {
            row.vmid: await self._inventory.read_config(Location(row.vmid, row.node))
            for row in rows
        }
        sources = [await self._read_source(row, configs[row.vmid]) for row in rows]
        self._sources[first.vmid] = tuple(sources)
        config = configs[first.vmid]
        return TemplateInfo(
            first.vmid,
            first.name,
            await self._list_nodes(sources),
            disk_bytes=max(vmconfig.read_disk_size(each) for each in configs.values()),
            has_agent=vmconfig.has_agent(config),
            has_tpm="tpmstate0" in config,
            os=config.get("ostype", ""),
            storage_type=sources[0].storage_type,
            tags=tuple(
                sorted({tag for row in copies for tag in vmconfig.parse_tags(row.tags)}),
            ),
        )

    async def choose_source(self, template: TemplateInfo, node: str) -> Source:
        """The template to clone for a node: one that is there, else one on shared storage.

        Raises:
            ConfigurationError: TEMPLATE_NOT_FOUND if no template reaches the node.
        """
        if template.id not in self._sources:
            await self.find(TemplateRef(id=template.id))
        sources = self._sources[template.id]
        for source in sources:
            if source.location.node == node:
                return source
        for source in sources:
            if source.is_shared:
                return source
        raise make_error(
            Code.TEMPLATE_NOT_FOUND,
            f"template {template.name} is not on node {node} and its storage is not shared; "
            "make a template of the same name there",
            operation="clone_vm",
        )

    async def _read_source(self, row: Resource, config: Config) -> Source:
        storage = vmconfig.read_disk_storage(config)
        for each in await self._inventory.list_storages(row.node):
            if each.storage == storage:
                at = Location(row.vmid, row.node)
                return Source(at, storage, each.type, bool(each.shared))
        return Source(Location(row.vmid, row.node), storage, "", is_shared=False)

    async def _list_nodes(self, sources: Sequence[Source]) -> tuple[str, ...]:
        nodes = {source.location.node for source in sources}
        if any(source.is_shared for source in sources):
            rows = await self._inventory.list_node_rows()
            nodes |= {row.node for row in rows if row.status == ONLINE}
        return tuple(sorted(nodes))


def choose_templates(resources: Sequence[Resource], wanted: TemplateRef) -> list[Resource]:
    """The templates that a reference matches, one for each node, the lowest id first. Pure.

    Raises:
        ConfigurationError: TEMPLATE_NOT_FOUND, AMBIGUOUS or NOT_A_TEMPLATE.
    """
    rows = sorted((row for row in resources if row.type == "qemu"), key=lambda row: row.vmid)
    if wanted.id:
        shown, found = f"with id {wanted.id}", [row for row in rows if row.vmid == wanted.id]
        if found and not found[0].template:
            raise make_error(Code.NOT_A_TEMPLATE, f"VM {wanted.id} is not a template")
    elif wanted.tags:
        tags = {tag.lower() for tag in wanted.tags}
        shown = f"with tags {', '.join(sorted(tags))}"
        found = [row for row in rows if tags <= set(vmconfig.parse_tags(row.tags))]
        found = [row for row in found if row.template]
    else:
        shown, found = f"{wanted.name!r}", [row for row in rows if row.name == wanted.name]
        found = [row for row in found if row.template and wanted.name]
    if not found:
        raise make_error(Code.TEMPLATE_NOT_FOUND, f"template {shown} not found")
    if len({row.node for row in found}) < len(found) or len({row.name for row in found}) > 1:
        ids = ", ".join(str(row.vmid) for row in found)
        raise make_error(Code.AMBIGUOUS, f"{len(found)} templates match {shown}: {ids}")
    return found
