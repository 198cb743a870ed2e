"""The Components that ship with the experiments."""

import msgspec
import pytest

from quarterdeck.apis.experiments.v1alpha1 import Component
from quarterdeck.app.experiment_catalog import COMPONENTS
from quarterdeck.kit import yaml
from quarterdeck.operators.experiments.substitution import Scope, substitute

COMPONENTS_BY_NAME = {
    each["metadata"]["name"]: msgspec.convert(each, Component) for each in COMPONENTS
}


@pytest.mark.parametrize("name", sorted(COMPONENTS_BY_NAME))
def test_every_parameter_reaches_a_source(name: str) -> None:
    spec = COMPONENTS_BY_NAME[name].spec
    sources = msgspec.json.encode(spec.sources).decode()
    unused = [each.name for each in spec.parameters if f"${{{each.name}" not in sources]
    assert not unused


def test_load_is_generated_against_the_address_that_is_given() -> None:
    helm = COMPONENTS_BY_NAME["k6-http-loadgen"].spec.sources[0].helm
    assert helm is not None
    given = {"targetUrl": "http://10.0.0.7/api", "users": "5", "duration": "60s"}
    _, job = yaml.load(substitute(helm.values, Scope(params=given)))["resources"]
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "TARGET_URL", "value": "http://10.0.0.7/api"}]
    assert container["command"][:6] == ["k6", "run", "--vus", "5", "--duration", "60s"]
