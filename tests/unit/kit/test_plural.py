"""Numbers with their noun."""

from quarterdeck.kit.plural import count


def test_one_has_no_s() -> None:
    assert [count(number, "cluster") for number in (0, 1, 2)] == [
        "0 clusters",
        "1 cluster",
        "2 clusters",
    ]
