"""DeviceClasses, which device claims reference by name."""

import re

from quarterdeck.meta import names
from quarterdeck.meta.field import invalid
from quarterdeck.server.kinds import device_fields
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.resource import Context, Object

_LONGEST_NAME = 63


def _validate_class(value: Object, context: Context) -> FieldErrors:
    spec = get_mapping(value, "spec")
    yield from device_fields.validate_selectors(get_items(spec, "selectors"), "spec.selectors")
    yield from device_fields.validate_configs(get_items(spec, "config"), "spec.config")
    name = spec.get("extendedResourceName")
    if name is not None and not _is_extended_resource(name):
        text = "must be a valid extended resource name"
        yield invalid("spec.extendedResourceName", name, text)


def _is_extended_resource(name: str) -> bool:
    """Whether a resource is not Kubernetes' own, and quotas can name the requests of it."""
    domain, slash, _ = name.partition("/")
    if not slash or re.search(r"(^|\.)kubernetes\.io$", domain) or name.startswith("requests."):
        return False
    return not names.check_qualified_name(f"requests.{name}")


DEVICE_CLASS = Rules(validate=_validate_class, generation_fields=("spec",))
