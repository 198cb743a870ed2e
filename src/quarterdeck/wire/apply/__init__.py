"""Server-side apply and field ownership, exactly as Kubernetes keeps them.

`FieldManager` is the face for the server: one per kind, version and subresource. Below it are
tries of fields (`fieldset`), types compiled from schema nodes (`schema_type`), the functions that
compare and merge by type (`walk`, `merger`), the ownership algorithm (`updater`) and the
managedFields entries (`managed_fields`). Everything is pure; objects are plain dictionaries that
never change.
"""

from quarterdeck.wire.apply.fieldset import FieldSet
from quarterdeck.wire.apply.managed_fields import ManagedFieldsError
from quarterdeck.wire.apply.manager import FieldManager
from quarterdeck.wire.apply.schema_type import ItemError

__all__ = ["FieldManager", "FieldSet", "ItemError", "ManagedFieldsError"]
