"""Numbers that strategic merges and server-side applies convert to Go's integers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK

DEPLOYMENT = GVK("apps", "v1", "Deployment")


def convert(replicas: Any) -> Any:
    return builtins.convert_numbers({"spec": {"replicas": replicas}}, DEPLOYMENT)["spec"][
        "replicas"
    ]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        pytest.param(2**31, -(2**31), id="one too large"),
        pytest.param(2**32 + 3, 3, id="one that wraps around"),
        pytest.param(2**63 - 1, -1, id="the largest of 64 bits"),
        pytest.param(2**63, 0, id="one that is read as a float"),
        pytest.param(3.0, 3, id="a whole float"),
        pytest.param(1e10, 1410065408, id="a large float"),
        pytest.param(1e30, 0, id="a float beyond integers"),
        pytest.param(1.5, 1.5, id="a fraction stays, and is refused"),
        pytest.param("x", "x", id="a text stays"),
        pytest.param(True, True, id="a boolean stays"),
    ],
)
def test_numbers_become_what_go_makes_of_them(sent: Any, kept: Any) -> None:
    found = convert(sent)
    assert (found, type(found)) == (kept, type(kept))


@given(st.integers(-(2**31), 2**31 - 1))
def test_integers_that_fit_stay(number: int) -> None:
    assert convert(number) == number


def test_numbers_deep_inside_are_converted_by_their_own_type() -> None:
    port, grace = {"containerPort": 2**32 + 80, "unknown": 2**40}, 2**40
    spec = {"containers": [{"ports": [port]}], "terminationGracePeriodSeconds": grace}
    value = {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}, "x": 2**40}
    found = builtins.convert_numbers(value, DEPLOYMENT)
    assert found["spec"]["template"]["spec"] == {
        "containers": [{"ports": [{"containerPort": 80, "unknown": 2**40}]}],
        "terminationGracePeriodSeconds": grace,
    }
    assert found["x"] == 2**40
