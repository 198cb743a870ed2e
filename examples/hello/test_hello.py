"""The operator against a real API server, which starts with the test and ends with it."""

from pathlib import Path

from hello import Greeting, GreetingSpec, controller

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.kit import yaml
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Manager
from quarterdeck.testing import eventually

DEFINITION = yaml.load((Path(__file__).parent / "crd.yaml").read_text())
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


async def test_a_greeting_gets_a_config_map_and_a_status(client: Client, namespace: str) -> None:
    await client.resource(CRDS).create(DEFINITION)
    manager = Manager(client, name="hello")
    manager.add(controller)
    async with manager.running():
        metadata = ObjectMeta(name="ada", namespace=namespace)
        await client.create(Greeting(metadata=metadata, spec=GreetingSpec(who="Ada")))

        async def greeted() -> bool:
            greeting = await client.get(Greeting, "ada", namespace)
            return greeting.status.text == "Hello, Ada!"

        await eventually(greeted)
        config_map = await client.get(ConfigMap, "ada", namespace)
        assert config_map.data == {"text": "Hello, Ada!"}


def test_the_definition_is_that_of_the_type() -> None:
    assert crd.build_manifest([Greeting]) == DEFINITION
