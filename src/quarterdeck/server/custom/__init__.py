"""Custom resources: definitions, and the resources they bring.

A CustomResourceDefinition is itself a resource with rules (`definition`, `definition_rules`,
`naming`); an accepted one becomes `Resource`s (`build`) whose objects follow `strategy`. Imports
`meta`, `wire`, `cel` and the registry's face; knows nothing of requests or storage.
"""

from quarterdeck.server.custom.build import custom_resources
from quarterdeck.server.custom.definition import definition_resources

__all__ = ["custom_resources", "definition_resources"]
