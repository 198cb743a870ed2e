"""Feature flags, read from ConfigMaps; a change takes effect at once."""

from collections.abc import Iterable

import msgspec

from quarterdeck.operators.machines.records import FEATURES, ConfigRecord
from quarterdeck.runtime import get_logger

_LOG = get_logger("machines")
_TRUE, _FALSE = ("true", "on", "1", "yes"), ("false", "off", "0", "no")


class Flags(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Features of the operator that can be switched off."""

    repair: bool = True
    """Replace unhealthy machines of fleets."""
    orphan_collection: bool = True
    """Remove VMs whose claim is gone."""
    runner_scaling: bool = True
    """Make and remove runners of pools."""
    expiry: bool = True
    """Replace machines that are older than spec.maxLifetime."""


class Features:
    """The current feature flags."""

    def __init__(self, flags: Flags | None = None, *, namespace: str = "") -> None:
        """`namespace` is the only one whose ConfigMaps are used; empty uses all of them."""
        self.flags = flags if flags is not None else Flags()
        self._namespace = namespace
        self._reported: tuple[str, ...] = ()

    def load(self, records: Iterable[ConfigRecord]) -> bool:
        """Load the flags from our ConfigMaps, later names win; returns whether they changed."""
        before, values, problems = self.flags, {}, []
        names = {field.encode_name: field.name for field in msgspec.structs.fields(Flags)}
        for record in sorted(records, key=lambda each: each.key):
            if record.purpose != FEATURES:
                continue
            if self._namespace not in ("", record.metadata.namespace):
                problems.append(f"{record.key} is not in namespace {self._namespace}")
                continue
            for key, text in record.data.items():
                value = _parse(text)
                if key not in names:
                    known = ", ".join(names)
                    problems.append(f"{record.key} has {key}: {text!r}; known flags: {known}")
                elif value is None:
                    problems.append(f"{record.key} has {key}: {text!r}; set true or false")
                else:
                    values[names[key]] = value
        self.flags = msgspec.structs.replace(Flags(), **values)
        self._report(tuple(problems))
        return self.flags != before

    def _report(self, problems: tuple[str, ...]) -> None:
        for problem in problems:
            if problem not in self._reported:
                _LOG.warning("feature flag is ignored", detail=problem)
        self._reported = problems


def _parse(text: str) -> bool | None:
    word = text.strip().lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else None
