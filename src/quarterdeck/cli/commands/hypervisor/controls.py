"""The ConfigMap with the controls of a simulator: read, changed, written back."""

from collections.abc import Callable
from typing import Any

from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError

NAME = "hypervisor-simulator"


async def change_controls(
    change: Callable[[dict[str, Any]], None], *, namespace: str, kubeconfig: str, context: str
) -> dict[str, Any]:
    """Let `change` alter the controls, and write them; returns what they are then."""
    from quarterdeck.apis.core.config import ConfigMap
    from quarterdeck.kit import yaml
    from quarterdeck.operators.machines.drivers.simulator.controls import InvalidControl
    from quarterdeck.wire.status import NotFound

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        maps = client.resource(ConfigMap.KIND.gvr)
        try:
            record = await client.get(ConfigMap, NAME, where)
        except NotFound:
            await maps.create(_build_empty(where))
            record = await client.get(ConfigMap, NAME, where)
        controls = {key: yaml.load(text) for key, text in record.data.items() if text}
        before = yaml.dump(controls)
        try:
            change(controls)
        except InvalidControl as error:
            raise CommandError(str(error), REFUSED) from error
        if yaml.dump(controls) != before:
            data = {
                key: value if isinstance(value, str) else yaml.dump(value)
                for key, value in controls.items()
            }
            patch = {
                "metadata": {"resourceVersion": record.metadata.resource_version},
                "data": {**dict.fromkeys(record.data), **data},
            }
            await maps.patch(NAME, patch, namespace=where)
    return controls


def _build_empty(namespace: str) -> dict[str, Any]:
    from quarterdeck.apis.hypervisor.jobs import CONFIG_LABEL

    metadata = {"name": NAME, "namespace": namespace, "labels": {CONFIG_LABEL: "simulator"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {}}
