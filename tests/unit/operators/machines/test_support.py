"""Fields that nothing acts on are named, with what happens instead."""

from typing import Any

import pytest
from machine_templates import build_template

from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.operators.machines.support import find_unsupported_in_template


def build(**attestation: Any) -> HypervisorMachineTemplate:
    return build_template(attestation=attestation)


@pytest.mark.parametrize("method", ["join-token", "tpm", "tpm+token"])
def test_own_methods_are_acted_on(method: str) -> None:
    assert find_unsupported_in_template(build(method=method)) == []
    assert find_unsupported_in_template(build(method=method, config={"joinTokenTTL": "24h"})) == []


def test_method_that_is_not_installed_is_named_with_the_choices() -> None:
    (found,) = find_unsupported_in_template(build(method="bogus"))
    assert found.startswith("spec.attestation.method ('bogus' is not one of join-token, tpm,")


@pytest.mark.parametrize(("given", "used"), [("10s", "1m"), ("99h", "24h"), ("9999999999h", "24h")])
def test_lifetime_that_tokens_cannot_have_is_named_with_the_one_used(given: str, used: str) -> None:
    template = build(method="join-token", config={"joinTokenTTL": given})
    field = "spec.attestation.config.joinTokenTTL"
    assert find_unsupported_in_template(template) == [f"{field} ({given}; {used} is used)"]
    assert find_unsupported_in_template(build(method="tpm", config={"joinTokenTTL": given})) == []
