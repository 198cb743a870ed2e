"""JSON patch (RFC 6902) with the edge cases of Kubernetes' implementation.

A list of operations is applied whole or not at all: `apply` copies what it changes.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quarterdeck.wire.merge_patch import is_equal

MAX_COPY_BYTES = 3 * 1024 * 1024
"""Limit of the JSON bytes that all `copy` operations add; each can double the document."""
_MAX_DIGITS = 18
"""The most digits of an index; no list is that long."""


class JsonPatchError(ValueError):
    """Raised when a patch cannot be read, or an operation fails on the document."""

    def __init__(self, problem: str, *, index: int = -1, path: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.index = index
        self.path = path


class MalformedPatch(JsonPatchError):
    """Raised when a document is not a JSON patch at all."""


class Op(enum.StrEnum):
    """What an operation does."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    MOVE = "move"
    COPY = "copy"
    TEST = "test"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a patch."""

    op: Op
    path: str
    value: Any = msgspec.UNSET
    source: str = ""

    def to_json(self) -> dict[str, Any]:
        """The operation as JSON."""
        document: dict[str, Any] = {"op": self.op.value, "path": self.path}
        if self.op in (Op.MOVE, Op.COPY):
            document["from"] = self.source
        if self.op in (Op.ADD, Op.REPLACE, Op.TEST):
            document["value"] = None if self.value is msgspec.UNSET else self.value
        return document


def parse(document: Any) -> list[Operation]:
    """Read a patch document.

    Raises:
        MalformedPatch: naming the operation and what it lacks.
    """
    if not isinstance(document, list):
        raise MalformedPatch("a JSON patch must be a list of operations")
    return [_parse_operation(each, index) for index, each in enumerate(document)]


def _parse_operation(document: Any, index: int) -> Operation:
    if not isinstance(document, Mapping):
        raise MalformedPatch(f"operation {index} is not an object", index=index)
    try:
        op = Op(document.get("op", ""))
    except ValueError as error:
        raise MalformedPatch(
            f"operation {index}: unexpected kind: {document.get('op', '')}", index=index
        ) from error
    path, source = document.get("path"), document.get("from", "")
    if not isinstance(path, str) or not isinstance(source, str):
        raise MalformedPatch(f"operation {index}: path must be a JSON pointer", index=index)
    if op in (Op.MOVE, Op.COPY) and "from" not in document:
        raise MalformedPatch(f"operation {index}: {op.value} requires `from`", index=index)
    value = document.get("value", msgspec.UNSET)
    return Operation(op=op, path=path, value=value, source=source)


def apply(document: Any, operations: Iterable[Operation]) -> Any:
    """The patched document; the argument is left as it is.

    Raises:
        JsonPatchError: naming the operation, its path and what is wrong.
    """
    root = _copy(document)
    copied = 0
    for index, operation in enumerate(operations):
        try:
            if operation.op is Op.COPY:
                copied += len(msgspec.json.encode(_get_or_null(root, operation.source)))
                _check_copies(copied)
            root = _apply_one(root, operation)
        except JsonPatchError as error:
            raise JsonPatchError(
                f"operation {index} ({operation.op.value} {operation.path}): {error.problem}",
                index=index,
                path=operation.path,
            ) from error
    return root


def _check_copies(copied: int) -> None:
    if copied > MAX_COPY_BYTES:
        raise JsonPatchError(
            "Unable to complete the copy, the accumulated size increase of copy is"
            f" {copied}, exceeding the limit {MAX_COPY_BYTES}"
        )


def _apply_one(root: Any, operation: Operation) -> Any:
    value = None if operation.value is msgspec.UNSET else operation.value
    match operation.op:
        case Op.ADD:
            return _add(root, operation.path, _copy(value))
        case Op.REMOVE:
            _take(root, operation.path)
            return root
        case Op.REPLACE:
            return _replace(root, operation.path, _copy(value))
        case Op.MOVE:
            return _add(root, operation.path, _take(root, operation.source))
        case Op.COPY:
            return _add(root, operation.path, _copy(_get_or_null(root, operation.source)))
        case Op.TEST:
            _test(root, operation.path, value)
            return root


def _add(root: Any, path: str, value: Any) -> Any:
    if path == "":
        raise JsonPatchError("the whole document cannot be added")
    parent, token = _find_parent(root, path)
    if isinstance(parent, dict):
        parent[token] = value
    else:
        index = len(parent) if token == "-" else _index(token, len(parent))
        parent.insert(index, value)
    return root


def _replace(root: Any, path: str, value: Any) -> Any:
    if path == "":
        return value
    parent, token = _find_parent(root, path)
    if isinstance(parent, dict):
        parent[token] = value  # Kubernetes adds a missing member
    else:
        parent[_index(token, len(parent) - 1)] = value
    return root


def _take(root: Any, path: str) -> Any:
    parent, token = _find_parent(root, path)
    if isinstance(parent, dict):
        _require(parent, token)
        return parent.pop(token)
    return parent.pop(_index(token, len(parent) - 1))


def _test(root: Any, path: str, expected: Any) -> None:
    actual = _get_or_null(root, path) if expected is None else _get(root, path)
    if not is_equal(actual, expected):
        raise JsonPatchError("test failed: the value is different")


def _get(root: Any, path: str) -> Any:
    if path == "":
        return root
    parent, token = _find_parent(root, path)
    if isinstance(parent, dict):
        _require(parent, token)
        return parent[token]
    return parent[_index(token, len(parent) - 1)]


def _get_or_null(root: Any, path: str) -> Any:
    """Read a value for `copy` or a test for null, where a missing member counts as null."""
    if path == "":
        return root
    parent, token = _find_parent(root, path)
    if isinstance(parent, dict):
        return parent.get(token)
    return parent[_index(token, len(parent) - 1)]


def _find_parent(root: Any, path: str) -> tuple[Any, str]:
    """Return the container that a JSON pointer ends in, and the last token of the pointer."""
    if not path.startswith("/"):
        raise JsonPatchError("the path must start with /")
    *way, last = (_unescape(word) for word in path[1:].split("/"))
    node = root
    for word in way:
        if isinstance(node, dict) and word in node:
            node = node[word]
        elif isinstance(node, list):
            node = node[_index(word, len(node) - 1)]
        else:
            raise JsonPatchError(f"path not found: no {word!r}")
    if not isinstance(node, dict | list):
        raise JsonPatchError("the path goes through a scalar value")
    return node, last


def _require(parent: dict[str, Any], token: str) -> None:
    if token not in parent:
        raise JsonPatchError(f"path not found: no {token!r}")


def _index(token: str, limit: int) -> int:
    if not token.isascii() or not token.isdigit() or (len(token) > 1 and token[0] == "0"):
        raise JsonPatchError(f"{token!r} is not an index")
    if len(token) > _MAX_DIGITS or int(token) > limit:
        raise JsonPatchError(f"index {token} is out of range")
    return int(token)


def _unescape(word: str) -> str:
    return word.replace("~1", "/").replace("~0", "~")


def _escape(word: str) -> str:
    return word.replace("~", "~0").replace("/", "~1")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_copy(member) for member in value]
    return value


def create(before: Any, after: Any, *, path: str = "") -> list[Operation]:
    """Create a patch with `apply(before, patch) == after`; changed lists are replaced whole."""
    if before is after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return _create_members(before, after, path)
    if is_equal(before, after):
        return []
    return [Operation(op=Op.REPLACE, path=path, value=after)]


def _create_members(before: dict[str, Any], after: dict[str, Any], path: str) -> list[Operation]:
    operations = [
        Operation(op=Op.REMOVE, path=f"{path}/{_escape(key)}") for key in before if key not in after
    ]
    for key, value in after.items():
        member = f"{path}/{_escape(key)}"
        if key in before:
            operations.extend(create(before[key], value, path=member))
        else:
            operations.append(Operation(op=Op.ADD, path=member, value=value))
    return operations
