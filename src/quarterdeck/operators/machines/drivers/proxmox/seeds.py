"""Cloud-init images on a storage of Proxmox VE.

The image is uploaded as an ISO and attached as a CD drive: snippets cannot be uploaded through
the API, and the built-in drive holds no user data of ours. Its name has the claim and a digest of
the content, so that an image which is there is never uploaded again, not even when a shared
storage is seen from another node.
"""

import hashlib
from collections.abc import Sequence

from quarterdeck.operators.machines.drivers.proxmox.api import Api, build_path
from quarterdeck.operators.machines.drivers.proxmox.inventory import Inventory
from quarterdeck.operators.machines.drivers.proxmox.records import ContentRow, StorageRow
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import Owner


class Seeds:
    """Uploads and removes cloud-init images."""

    def __init__(self, api: Api, inventory: Inventory, *, storage: str) -> None:
        self._api = api
        self._inventory = inventory
        self._preferred = storage

    async def upload(self, node: str, image: bytes, owner: Owner) -> tuple[str, str]:
        """Store an image; returns its volume and the task that stores it, if one is needed.

        Raises:
            ConfigurationError: STORAGE_UNSUPPORTED if no storage of the node takes ISO images.
        """
        storages = [row for row in await self._inventory.list_storages(node) if row.holds("iso")]
        if not storages:
            raise make_error(
                Code.STORAGE_UNSUPPORTED,
                f"no storage of node {node} holds ISO images; allow the content type iso on one",
                operation="inject_cloud_init",
            )
        storage = choose_storage(storages, self._preferred)
        digest = hashlib.sha256(image).hexdigest()[:12]
        name = f"{_build_prefix(owner)}{digest}.iso"
        volume = f"{storage.storage}:iso/{name}"
        if volume in await self._list_volumes(node, storage.storage):
            return volume, ""
        path = build_path("nodes", node, "storage", storage.storage, "upload")
        task = await self._api.upload(path, {"content": "iso"}, name=name, data=image)
        return volume, task

    async def remove(self, node: str, owner: Owner, *, keep: str = "") -> None:
        """Remove every image of a claim that a node sees, but `keep`."""
        for storage in await self._inventory.list_storages(node):
            if not storage.holds("iso"):
                continue
            for volume in await self._list_volumes(node, storage.storage):
                name = volume.rpartition("/")[2]
                if name.startswith(_build_prefix(owner)) and volume != keep:
                    await self._remove_volume(node, storage.storage, volume)

    async def _remove_volume(self, node: str, storage: str, volume: str) -> None:
        path = build_path("nodes", node, "storage", storage, "content", volume)
        try:
            await self._api.change("DELETE", path)
        except HypervisorError as error:
            if error.code is not Code.NOT_FOUND:
                raise

    async def _list_volumes(self, node: str, storage: str) -> list[str]:
        path = build_path("nodes", node, "storage", storage, "content")
        rows = await self._api.get(path, list[ContentRow], {"content": "iso"})
        return [row.volid for row in rows]


def choose_storage(storages: Sequence[StorageRow], preferred: str) -> StorageRow:
    """The cluster's own storage if it can, else a shared one, else the first by name."""
    return min(storages, key=lambda row: (row.storage != preferred, not row.shared, row.storage))


def _build_prefix(owner: Owner) -> str:
    return f"hf-{owner.claim_uid.lower()}-"
