"""Parameters of a query: a wrong one is named with its value and what may stand there."""

import pytest

from quarterdeck.services.hub.endpoints.alerts import AlertParameters, FleetAlertParameters
from quarterdeck.services.hub.endpoints.auth import ExplainParameters
from quarterdeck.services.hub.errors import BadRequest
from quarterdeck.services.hub.paging import Paging
from quarterdeck.services.hub.router import read_parameters


@pytest.mark.parametrize(
    ("kind", "query", "text"),
    [
        (Paging, "page_size=0", "invalid parameter page_size: '0': expected int >= 1"),
        (Paging, "page_size=5000", "invalid parameter page_size: '5000': expected int <= 1000"),
        (Paging, "page=x", "invalid parameter page: 'x': expected int"),
        (ExplainParameters, "", "missing parameter cluster"),
        (
            AlertParameters,
            "severity=bad",
            "invalid parameter severity: 'bad': expected one of 'critical', 'warning', 'info'",
        ),
    ],
)
def test_wrong_parameter_is_named_with_its_value(kind: type[Paging], query: str, text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_parameters(kind, query)
    assert str(caught.value) == text


def test_parameters_that_are_right_are_read() -> None:
    found = read_parameters(FleetAlertParameters, "severity=info&cluster=a&cluster=b&page_size=5")
    assert found == FleetAlertParameters(severity="info", cluster=("a", "b"), page_size=5)
