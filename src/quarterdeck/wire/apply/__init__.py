"""Server-side apply and field ownership, exactly as Kubernetes keeps them.

`FieldManager` is the face for the server: one per kind, version and subresource. Below it stand
tries of fields (`fieldset`), types compiled from schema nodes (`typed`), the walks that compare
and merge by type (`walk`, `merging`), the ownership algorithm (`updater`) and the managedFields
entries (`managed`). Everything is pure; objects are plain dictionaries that never change.
"""

from quarterdeck.wire.apply.fieldset import FieldSet
from quarterdeck.wire.apply.managed import ManagedFieldsError
from quarterdeck.wire.apply.manager import FieldManager
from quarterdeck.wire.apply.typed import ItemError

__all__ = ["FieldManager", "FieldSet", "ItemError", "ManagedFieldsError"]
