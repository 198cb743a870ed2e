"""Addresses of ingesters."""

import pytest

from quarterdeck.inventory.push.address import find_address_problem


@pytest.mark.parametrize(
    "address", ["hub:9443", "hub.example.com", "127.0.0.1:1", "[::1]:9443", "localhost:65535"]
)
def test_address_that_can_be_dialled_has_no_problem(address: str) -> None:
    assert find_address_problem(address) == ""


@pytest.mark.parametrize(
    "address",
    ["", "https://hub:9443", "hub:abc", "hub:0", "hub:65536", "hub:9443/", "a b:1", "u@hub:1"],
)
def test_problem_of_an_address_says_what_to_write(address: str) -> None:
    assert find_address_problem(address).startswith(f"{address!r} is not an address; write HOST")
