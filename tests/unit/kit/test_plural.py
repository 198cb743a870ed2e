"""Numbers with their noun."""

from quarterdeck.kit.plural import format_count


def test_one_has_no_s() -> None:
    assert [format_count(number, "cluster") for number in (0, 1, 2)] == [
        "0 clusters",
        "1 cluster",
        "2 clusters",
    ]
