import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.telemetry.matchers import (
    Matcher,
    MatcherError,
    Operator,
    canonicalize,
    match_all,
    parse_all,
)

COLLECTOR = {
    "env": "prod",
    "team": "team-a",
    "region": "us-west-2",
    "collector.os": "linux",
    "collector.ID": "edge-1",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("collector.os=linux", True),
        ("env = prod", True),
        ('env="prod"', True),
        ('"env"="prod"', True),
        ("env=PROD", False),
        ("team=~team-(a|b)", True),
        ("region=~us", False),
        ("region=~us-.*", True),
        ("region!~us-.*", False),
        ("missing!=x", True),
        ('missing=""', True),
        ("missing=~.*", True),
        ("missing!~.+", True),
        ("missing=~.+", False),
        ("collector.ID=edge-1", True),
        ("collector.id=edge-1", False),
        ("k8s-cluster=prod", False),
        ("1abc=x", False),
        ("région=ouest", False),
        ("env=prod,", True),
        ('env=~"a{2}"', False),
        ('env="a b"', False),
    ],
)
def test_matchers_decide_as_the_fleet_api_does(text: str, expected: bool) -> None:
    assert Matcher.parse(text).matches(COLLECTOR) is expected


@pytest.mark.parametrize("text", ["env = prod", 'env="prod"', '"env"="prod"', "env=prod,"])
def test_spellings_of_one_matcher_are_the_same(text: str) -> None:
    assert canonicalize([text]) == {'env="prod"'}


@pytest.mark.parametrize(
    "text",
    [
        "env==prod",
        "env=",
        "env",
        "=prod",
        "env!prod",
        "env=prod=x",
        "env=a b",
        "env='prod'",
        "path=a\\b",
        "{env=prod}",
        "env=~a{2}",
        "env=prod,team=a",
        "env=~[a-",
        "",
        'env="a',
        'env="\\q"',
        'env="\\ud83d\\ude00"',
        'env=~"\\udfff"',
        'env="\\U00110000"',
        'env="\\x+1"',
        "env=" + "x" * 197,
    ],
)
def test_broken_matchers_are_refused_with_a_column(text: str) -> None:
    with pytest.raises(MatcherError) as caught:
        Matcher.parse(text)
    assert caught.value.column >= 1


def test_all_matchers_must_match_and_none_selects_nothing() -> None:
    assert match_all(parse_all(["env=prod", "team=team-a"]), COLLECTOR)
    assert not match_all(parse_all(["env=prod", "team=team-b"]), COLLECTOR)
    assert not match_all((), COLLECTOR)


@given(
    st.text(max_size=20),
    st.sampled_from([Operator.EQUAL, Operator.NOT_EQUAL]),
    st.text(max_size=20),
)
def test_the_canonical_text_reads_back_equal(name: str, operator: Operator, value: str) -> None:
    matcher = Matcher(name, operator, value)
    assert Matcher.parse(str(matcher)) == matcher


@given(st.text(max_size=30))
def test_any_text_is_a_matcher_or_a_matcher_error(text: str) -> None:
    try:
        Matcher.parse(text)
    except MatcherError as error:
        assert error.problem
