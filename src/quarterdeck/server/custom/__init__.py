"""Custom resources: definitions, and the resources they define.

`definition` is the strategy of CustomResourceDefinitions, with `definition_rules`, `version_rules`
and `schema_rules` as its validation. `establishment` accepts the names of a stored definition
(`accepted_names`), `resources` builds its `Resource`s, whose objects follow `strategy`, and
`finalizer` deletes the objects of a definition that is deleted. Nothing is loaded before the first
definition.
"""

from collections.abc import Iterable, Sequence

from quarterdeck.server.registry.resource import Object, Resource

__all__ = ["build_custom_resources", "build_definition_resources"]


def build_custom_resources(definition: Object) -> Sequence[Resource]:
    """Build the served versions of a definition; none while its names are not accepted."""
    from quarterdeck.server.custom import resources

    return resources.build_custom_resources(definition)


def build_definition_resources() -> Iterable[Resource]:
    """Build the resource `customresourcedefinitions`."""
    from quarterdeck.server.custom import definition

    return definition.build_definition_resources()
