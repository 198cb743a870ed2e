"""The table of operators."""

from quarterdeck.app.parts import choose, service_name_of


def test_machines_alone_have_a_name_of_their_own_in_traces() -> None:
    assert service_name_of(choose(["machines"])) == "hyperfleet-operator"
    assert service_name_of(choose(["machines", "pipelines"])) == "quarterdeck"
    assert service_name_of(choose([])) == "quarterdeck"
