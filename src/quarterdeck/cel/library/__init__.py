"""The functions expressions may call, one module per library.

A module gives `DECLARATIONS`, the signatures as text, and `FUNCTIONS`: name to implementations
by the class of the first operand. A function that gets other arguments than it declares raises
`no such overload`. Signatures that older releases of Kubernetes lack are in `LATER` instead, by the
release that introduced them.
"""

import functools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Implementation = Callable[..., Any]


def _import_modules() -> tuple[ModuleType, ...]:
    from quarterdeck.cel.library import (
        authorizer,
        cidr,
        conversions,
        format,
        ip,
        json_patch,
        lists,
        math,
        optional,
        quantity,
        regex,
        semver,
        sequences,
        sets,
        strings,
        time,
        url,
    )

    return (
        conversions, strings, lists, regex, url, sets, format, quantity, ip, cidr, semver,
        authorizer, optional, math, time, sequences, json_patch,
    )  # fmt: skip


def get_declarations(newest: int) -> list[str]:
    """The signatures of all libraries that were introduced in the release `newest` or before."""
    found: list[str] = []
    for module in _import_modules():
        found.append(getattr(module, "DECLARATIONS", ""))
        later: Mapping[int, str] = getattr(module, "LATER", {})
        found += [text for release, text in later.items() if release <= newest]
    return found


@functools.cache
def get_functions() -> Mapping[str, Mapping[type, Implementation]]:
    """Every implementation, merged over the libraries."""
    table: dict[str, dict[type, Implementation]] = {}
    for module in _import_modules():
        for name, implementations in module.FUNCTIONS.items():
            table.setdefault(name, {}).update(implementations)
    return table
