"""The operator against a real API server, which starts with the test and ends with it."""

import importlib.util
from pathlib import Path
from typing import Any

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.kit import yaml
from quarterdeck.meta.identity import GVR
from quarterdeck.runtime import Manager
from quarterdeck.testing.poll import eventually

HERE = Path(__file__).parent
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def load(path: Path) -> Any:
    """The operator as a module; it is a script, and its name is one of the standard library's."""
    spec = importlib.util.spec_from_file_location("hello_operator", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hello = load(HERE / "operator.py")


async def test_a_greeting_gets_a_config_map_and_a_status(client: Client, namespace: str) -> None:
    await client.resource(CRDS).create(yaml.load((HERE / "crd.yaml").read_text()))
    manager = Manager(client, name="hello")
    manager.add(hello.controller)
    async with manager.running():
        metadata = hello.ObjectMeta(name="ada", namespace=namespace)
        await client.create(hello.Greeting(metadata=metadata, spec=hello.GreetingSpec(who="Ada")))

        async def greeted() -> bool:
            greeting = await client.get(hello.Greeting, "ada", namespace)
            return bool(greeting.status.text == "Hello, Ada!")

        await eventually(greeted)
        config_map = await client.get(ConfigMap, "ada", namespace)
        assert config_map.data == {"text": "Hello, Ada!"}
