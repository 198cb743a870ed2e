"""Query options of writes, checked as Kubernetes checks them."""

from collections.abc import Sequence

from quarterdeck.meta.field import Bare, FieldError, invalid, not_supported, quote, too_long
from quarterdeck.server.request.call import Call
from quarterdeck.server.write.result import WriteOptions
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import Invalid

_MANAGER_LIMIT = 128
_DRY_RUN_ALL = ("All",)
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


def parse_write_options(
    call: Call,
    options: CreateOptions,
    kind: str,
    *,
    subresource: str = "",
    problems: Sequence[FieldError] = (),
) -> WriteOptions:
    """Check the options of a write and convert them; `problems` are reported first.

    Raises:
        Invalid: naming the option; `kind` is CreateOptions, UpdateOptions or PatchOptions.
    """
    if not (options.field_manager or options.dry_run or options.field_validation or problems):
        return WriteOptions(call.manager, subresource=subresource)
    errors = [
        *problems,
        *_check_manager(options.field_manager),
        *check_dry_run(options.dry_run),
        *_check_field_validation(options.field_validation),
    ]
    if errors:
        raise Invalid.of(kind, "", errors, group="meta.k8s.io")
    return WriteOptions(
        manager=options.field_manager or call.manager,
        is_dry_run=bool(options.dry_run),
        subresource=subresource,
        sent=options,
    )


def parse_field_validation(options: CreateOptions) -> str:
    """Return the mode of field validation; the default is Warn."""
    return options.field_validation or "Warn"


def _check_field_validation(text: str) -> list[FieldError]:
    if text in _VALIDATIONS:
        return []
    return [not_supported("fieldValidation", text, _VALIDATIONS)]


def check_dry_run(dry_run: tuple[str, ...]) -> list[FieldError]:
    """Return an error for values of `dryRun` other than `All`."""
    if not dry_run or set(dry_run) == set(_DRY_RUN_ALL):
        return []
    shown = Bare("[]string{" + ", ".join(quote(each) for each in dry_run) + "}")
    return [not_supported("dryRun", shown, _DRY_RUN_ALL)]


def _check_manager(manager: str) -> list[FieldError]:
    if len(manager) > _MANAGER_LIMIT:
        return [too_long("fieldManager", manager, _MANAGER_LIMIT)]
    for position, character in enumerate(manager):
        if not character.isprintable():
            return [
                invalid(
                    "fieldManager",
                    manager,
                    f"invalid character U+{ord(character):04X} (at position {position})",
                )
            ]
    return []
