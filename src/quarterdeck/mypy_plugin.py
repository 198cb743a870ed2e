"""A mypy plugin that checks `ctx.status.set(...)` against the status type of the kind.

    [tool.mypy]
    plugins = ["quarterdeck.mypy_plugin"]

Keyword arguments whose names depend on a type argument cannot be written as a Python type, so a
plugin gives mypy the signature: the fields of the status, each optional. Only mypy imports this
module.
"""

from collections.abc import Callable

from mypy.nodes import ARG_NAMED_OPT, FuncDef, TypeInfo
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import CallableType, FunctionLike, Instance, UnionType, get_proper_type

_SET = "quarterdeck.runtime.reconcile.status.StatusDraft.set"


class StatusPlugin(Plugin):
    """Replaces the signature of `StatusDraft.set`."""

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        """The hook of one method."""
        return _build_signature if fullname == _SET else None


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy looks for."""
    return StatusPlugin


def _build_signature(context: MethodSigContext) -> FunctionLike:
    """The signature of `set` for the kind at hand; the declared one where the kind is unknown."""
    declared = context.default_signature
    draft = get_proper_type(context.type)
    if not isinstance(draft, Instance) or not draft.args:
        return declared
    kind = get_proper_type(draft.args[0])
    status = _find_status(kind.type) if isinstance(kind, Instance) else None
    fields = _find_fields(status) if status is not None else None
    if fields is None:
        return declared
    return declared.copy_modified(
        arg_types=fields.arg_types[1:],
        arg_kinds=[ARG_NAMED_OPT] * len(fields.arg_types[1:]),
        arg_names=fields.arg_names[1:],
    )


def _find_status(kind: TypeInfo) -> TypeInfo | None:
    """The type of a kind's member `status`, without None."""
    member = kind.get("status")
    declared = get_proper_type(member.type) if member is not None else None
    choices = declared.items if isinstance(declared, UnionType) else [declared]
    for choice in choices:
        each = get_proper_type(choice)
        if isinstance(each, Instance):
            return each.type
    return None


def _find_fields(status: TypeInfo) -> CallableType | None:
    """The constructor of a struct: its arguments are its fields."""
    init = status.get_method("__init__")
    declared = init.type if isinstance(init, FuncDef) else None
    return declared if isinstance(declared, CallableType) else None
