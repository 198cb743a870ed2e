import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    Preconditions,
    parse_bool,
)
from quarterdeck.wire.status import BadRequest

text = st.text(st.characters(codec="utf-8"), max_size=12)
number = st.integers(-(2**63), 2**63 - 1)


@given(
    st.builds(
        ListOptions,
        label_selector=text,
        field_selector=text,
        watch=st.booleans(),
        allow_watch_bookmarks=st.booleans(),
        resource_version=text,
        resource_version_match=text,
        timeout_seconds=st.none() | number,
        limit=number,
        continue_=text,
        send_initial_events=st.none() | st.booleans(),
    )
)
def test_list_options_read_back_equal(options: ListOptions) -> None:
    assert ListOptions.parse(options.build()) == options


@given(
    st.builds(
        PatchOptions,
        dry_run=st.lists(text, max_size=2).map(tuple),
        field_manager=text,
        field_validation=text,
        force=st.none() | st.booleans(),
    )
)
def test_patch_options_read_back_equal(options: PatchOptions) -> None:
    assert PatchOptions.parse(options.build()) == options


@given(
    st.builds(
        DeleteOptions,
        dry_run=st.lists(text, max_size=2).map(tuple),
        grace_period_seconds=st.none() | number,
        propagation_policy=st.none() | text,
        preconditions=st.none() | st.builds(Preconditions, uid=st.none() | text),
    )
)
def test_delete_options_survive_the_body(options: DeleteOptions) -> None:
    assert DeleteOptions.from_body(options.to_body()) == options


@pytest.mark.parametrize("value", ["true", "True", "1", "", "yes"])
def test_anything_but_zero_and_false_is_true(value: str) -> None:
    assert parse_bool(value)
    assert ListOptions.parse(f"watch={value}").watch


@pytest.mark.parametrize("value", ["0", "false", "False", "FALSE"])
def test_zero_and_false_are_false(value: str) -> None:
    assert not parse_bool(value)


def test_an_invalid_number_is_a_bad_request_that_shows_it() -> None:
    with pytest.raises(BadRequest) as caught:
        ListOptions.parse("limit=abc")
    assert caught.value.message == 'strconv.ParseInt: parsing "abc": invalid syntax'
    with pytest.raises(BadRequest, match="value out of range"):
        ListOptions.parse(f"limit={2**63}")


def test_parameters_of_other_verbs_are_ignored() -> None:
    assert GetOptions.parse("limit=3&timeout=32s") == GetOptions()
    assert CreateOptions.parse("dryRun=All&dryRun=x").dry_run == ("All", "x")


def test_a_body_of_the_wrong_type_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match="gracePeriodSeconds"):
        DeleteOptions.from_body({"gracePeriodSeconds": "soon"})


def test_a_number_of_many_digits_is_out_of_range() -> None:
    with pytest.raises(BadRequest, match="value out of range"):
        ListOptions.parse("limit=" + "9" * 5000)
    assert ListOptions.parse("limit=" + "0" * 5000 + "7").limit == 7


@pytest.mark.parametrize("limit", [2**63 - 1, -(2**63)])
def test_the_outermost_numbers_of_64_bits_are_read(limit: int) -> None:
    assert ListOptions.parse(f"limit={limit}").limit == limit


@pytest.mark.parametrize("limit", [2**63, -(2**63) - 1])
def test_a_number_beyond_64_bits_is_out_of_range(limit: int) -> None:
    with pytest.raises(BadRequest, match="value out of range"):
        ListOptions.parse(f"limit={limit}")
