"""Mistakes in the declaration of a controller are named when it is made."""

import functools
from collections.abc import Awaitable
from typing import Any

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.objects import Object
from quarterdeck.runtime import Controller, Finalizer
from quarterdeck.runtime.reconcile.outcome import classify_result


async def good(obj: Any, ctx: Any) -> None:
    """Do nothing."""


async def one_argument(obj: Any) -> None:
    """Take too little."""


async def returns_bool(obj: Any, ctx: Any) -> bool:
    return True


async def yields(obj: Any, ctx: Any) -> Any:
    yield 1


def not_async(obj: Any, ctx: Any) -> None:
    """Return no coroutine."""


class Nameless(Object, frozen=True, kw_only=True):
    """A kind without KIND."""


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        pytest.param(not_async, "not_async is not async; write `async def not_async`", id="sync"),
        pytest.param(one_argument, "must take two arguments: (obj, ctx)", id="arguments"),
        pytest.param(returns_bool, "returns_bool is annotated to return bool", id="result"),
        pytest.param(yields, "contains `yield`", id="generator"),
        pytest.param(3, "must be an async function", id="no function"),
    ],
)
def test_a_wrong_handler_is_refused_in_one_line(handler: Any, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        Controller(reconcile=handler, for_=ConfigMap)
    assert words in str(caught.value)
    assert "controller configmap: reconcile" in str(caught.value)
    with pytest.raises(TypeError) as caught:
        Controller(reconcile=good, for_=ConfigMap, finalizers=[Finalizer("a.io/x", handler)])
    assert words in str(caught.value)
    assert "controller configmap: finalizer a.io/x" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("position", ["for_", "owns", "reads"])
def test_a_kind_without_a_declaration_is_refused(position: str) -> None:
    given: dict[str, Any] = {"for_": ConfigMap}
    given[position] = Nameless if position == "for_" else [Nameless]
    with pytest.raises(TypeError, match=r"kind Nameless has no KIND; add KIND = KindInfo\("):
        Controller(reconcile=good, **given)


class Worker:
    async def method(self, obj: Any, ctx: Any) -> None:
        """A bound method."""

    async def __call__(self, obj: Any, ctx: Any) -> None:
        """A callable object."""


async def with_more(more: int, obj: Any, ctx: Any) -> None:
    """A partial."""


@functools.wraps(good)
def decorated(*arguments: Any) -> Any:
    return good(*arguments)


def returns_coroutine(obj: Any, ctx: Any) -> Awaitable[None]:
    return good(obj, ctx)


@pytest.mark.parametrize(
    "handler",
    [
        Worker().method,
        Worker(),
        functools.partial(with_more, 1),
        lambda obj, ctx: good(obj, ctx),
        decorated,
        returns_coroutine,
    ],
    ids=["method", "callable", "partial", "lambda", "decorated", "coroutine"],
)
def test_every_way_to_write_a_coroutine_function_is_accepted(handler: Any) -> None:
    Controller(reconcile=handler, for_=ConfigMap)


def test_a_wrong_result_names_the_right_ones() -> None:
    wrong: Any = True
    with pytest.raises(TypeError, match=r"reconcile returned True: return None, Done\(\)"):
        classify_result(wrong)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"reconcile_timeout_s": 0.0}, "reconcile_timeout_s must be positive, got 0.0"),
        ({"resync_s": 0.0}, "resync_s must be positive or None, got 0.0"),
    ],
)
def test_numbers_that_would_stop_or_flood_a_controller_are_refused(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=f"controller configmap: {words}"):
        Controller(reconcile=good, for_=ConfigMap, **given)
