"""The registry: who follows a resource hears of its changes."""

import msgspec

from quarterdeck.server.custom import build_definition_resources
from quarterdeck.server.registry.registry import Registry


def test_subscribers_of_a_resource_hear_when_it_is_replaced_or_removed() -> None:
    (definitions,) = build_definition_resources()
    other = msgspec.structs.replace(definitions, gvr=definitions.gvr._replace(resource="others"))
    registry, heard = Registry(), list[str]()
    stop = registry.subscribe(definitions.gvr, lambda: heard.append("definitions"))
    registry.subscribe(other.gvr, lambda: heard.append("others"))
    registry.put("a", [definitions])
    registry.put("b", [other])
    registry.put("a", [])
    assert heard == ["definitions", "others", "definitions"]
    registry.put("a", [definitions])
    registry.remove("a")
    registry.remove("a")
    assert heard[3:] == ["definitions", "definitions"]
    stop()
    stop()
    registry.put("a", [definitions])
    registry.remove("b")
    assert heard[5:] == ["others"]
