"""The string rules, in Kubernetes' words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta import names


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (names.check_dns1123_label, "a"),
        (names.check_dns1123_label, "0-a"),
        (names.check_dns1123_label, "a" * 63),
        (names.check_dns1123_subdomain, "a.b-c.d"),
        (names.check_dns1123_subdomain, "a" * 253),
        (names.check_dns1035_label, "a-0"),
        (names.check_path_segment, "system:node"),
        (names.check_qualified_name, "app"),
        (names.check_qualified_name, "example.com/My_Name.1"),
        (names.check_label_value, ""),
        (names.check_label_value, "A_b.c-1"),
    ],
)
def test_good_names_have_no_problems(check: names.Rule, text: str) -> None:
    assert check(text) == []


@pytest.mark.parametrize(
    ("check", "text", "problem"),
    [
        (names.check_dns1123_label, "A", "a lowercase RFC 1123 label must consist"),
        (names.check_dns1123_label, "", "a lowercase RFC 1123 label must consist"),
        (names.check_dns1123_label, "a.b", "must not contain dots"),
        (names.check_dns1123_label, "a" * 64, "must be no more than 63 characters"),
        (names.check_dns1123_subdomain, "a_b", "a lowercase RFC 1123 subdomain must consist"),
        (names.check_dns1123_subdomain, "a..b", "a lowercase RFC 1123 subdomain must consist"),
        (names.check_dns1123_subdomain, "a\n", "a lowercase RFC 1123 subdomain must consist"),
        (names.check_dns1123_subdomain, "a" * 254, "must be no more than 253 characters"),
        (names.check_dns1035_label, "0a", "a DNS-1035 label must consist"),
        (names.check_path_segment, "..", "may not be '..'"),
        (names.check_path_segment, "a/b", "may not contain '/'"),
        (names.check_path_segment, "a%b", "may not contain '%'"),
        (names.check_qualified_name, "", "name part must be non-empty"),
        (names.check_qualified_name, "/a", "prefix part must be non-empty"),
        (names.check_qualified_name, "A/a", "prefix part a lowercase RFC 1123 subdomain"),
        (names.check_qualified_name, "a/b/c", "a qualified name must consist"),
        (names.check_qualified_name, "a" * 64, "name part must be no more than 63 characters"),
        (names.check_qualified_name, "a b", "name part must consist"),
        (names.check_label_value, "a b", "a valid label must be an empty string or consist"),
        (names.check_label_value, "a" * 64, "must be no more than 63 characters"),
    ],
)
def test_bad_names_are_explained(check: names.Rule, text: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in check(text)), check(text)


@given(st.text(max_size=300))
def test_any_text_is_checked_without_an_exception(text: str) -> None:
    for rule in (
        names.check_dns1123_label,
        names.check_dns1123_subdomain,
        names.check_dns1035_label,
        names.check_path_segment,
        names.check_qualified_name,
        names.check_label_value,
    ):
        assert isinstance(rule(text), list)


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True))
def test_every_label_is_a_subdomain_and_a_qualified_name(text: str) -> None:
    assert not names.check_dns1123_label(text)
    assert not names.check_dns1123_subdomain(text)
    assert not names.check_qualified_name(text)


def test_generated_name_may_end_in_a_dash() -> None:
    assert names.check_object_name("subdomain", "web-", is_prefix=True) == []
    assert names.check_object_name("subdomain", "web-", is_prefix=False)
