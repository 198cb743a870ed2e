"""Checks of a controller's declaration: mistakes are named when it is made, with their fix."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

_RESULTS = "None, Done(), RequeueAfter(seconds) or WaitFor(kind, key)"
_WRONG_RESULTS = frozenset({"bool", "int", "float", "str", "bytes", "dict", "list", "tuple"})


def check_kinds(controller: str, kinds: Iterable[type[Any]]) -> None:
    """Check that every kind declares its group, version and plural.

    Raises:
        TypeError: naming the class and the line to add.
    """
    for kind in kinds:
        if getattr(kind, "KIND", None) is None:
            name = getattr(kind, "__name__", repr(kind))
            raise TypeError(
                f"{controller}: kind {name} has no KIND; add KIND = KindInfo(group=..., "
                f'version="v1", kind="{name}", plural="{name.lower()}s") to the class'
            )


def check_handler(role: str, handler: Callable[..., Any]) -> None:
    """Check that a handler is `async def` and takes the object and the context.

    Lambdas and functions annotated to return an awaitable pass: they may return a coroutine.

    Raises:
        TypeError: naming the function and the fix.
    """
    if not callable(handler):
        raise TypeError(f"{role} must be an async function (obj, ctx), got {handler!r}")
    name = getattr(handler, "__qualname__", type(handler).__name__)
    _check_async(role, name, handler)
    _check_parameters(role, name, handler)
    returned = _get_return_name(handler)
    if returned in _WRONG_RESULTS:
        raise TypeError(f"{role} {name} is annotated to return {returned}; return {_RESULTS}")


def _check_async(role: str, name: str, handler: Callable[..., Any]) -> None:
    function = _find_function(handler)
    if inspect.isasyncgenfunction(function):
        raise TypeError(f"{role} {name} contains `yield`; it must return {_RESULTS}")
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        return
    if function.__name__ != "<lambda>" and not _returns_awaitable(function):
        raise TypeError(f"{role} {name} is not async; write `async def {function.__name__}`")


def _check_parameters(role: str, name: str, handler: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(handler)
    except ValueError:
        return  # a built-in without a signature
    try:
        signature.bind(object(), object())
    except TypeError:
        raise TypeError(
            f"{role} {name}{_format_parameters(signature)} must take two arguments: (obj, ctx)"
        ) from None


def _find_function(handler: Any) -> Any:
    """The function that runs: behind partials, methods, decorators and callable objects."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    handler = inspect.unwrap(handler)
    if inspect.ismethod(handler):
        return handler.__func__
    if inspect.isfunction(handler):
        return handler
    return type(handler).__call__


def _returns_awaitable(function: Any) -> bool:
    text = str(function.__annotations__.get("return", ""))
    return any(word in text for word in ("Awaitable", "Coroutine", "Future", "Task", "Any"))


def _get_return_name(handler: Callable[..., Any]) -> str:
    annotation = getattr(_find_function(handler), "__annotations__", {}).get("return")
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.partition("[")[0]


def _format_parameters(signature: inspect.Signature) -> str:
    return f"({', '.join(signature.parameters)})"
