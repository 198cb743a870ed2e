"""The table of operators."""

from quarterdeck.app.parts import choose, choose_service_name


def test_machines_alone_have_a_name_of_their_own_in_traces() -> None:
    assert choose_service_name(choose(["machines"])) == "hyperfleet-operator"
    assert choose_service_name(choose(["machines", "pipelines"])) == "quarterdeck"
    assert choose_service_name(choose([])) == "quarterdeck"
