"""Custom resources: definitions, and the resources they bring.

A CustomResourceDefinition is itself a resource with rules (`definition`, `definition_rules`,
`naming`), judged once it is stored (`establishing`); an accepted one becomes `Resource`s (`build`)
whose objects follow `strategy`; one that goes takes its objects along (`cleanup`). Imports `meta`,
`wire`, `cel` and the registry's face. Nothing is loaded before the first definition.
"""

from collections.abc import Iterable, Sequence

from quarterdeck.server.registry.resource import Object, Resource

__all__ = ["build_custom_resources", "build_definition_resources"]


def build_custom_resources(definition: Object) -> Sequence[Resource]:
    """The served versions of a definition; none while its names are not accepted."""
    from quarterdeck.server.custom import resources

    return resources.build_custom_resources(definition)


def build_definition_resources() -> Iterable[Resource]:
    """The resource `customresourcedefinitions`."""
    from quarterdeck.server.custom import definition

    return definition.build_definition_resources()
