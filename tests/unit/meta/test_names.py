from collections.abc import Callable

import pytest

from quarterdeck.meta import names

Check = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (names.label_problems, "a"),
        (names.label_problems, "0-a"),
        (names.label_problems, "a" * 63),
        (names.subdomain_problems, "a.b-c.d"),
        (names.subdomain_problems, "a" * 253),
        (names.label_1035_problems, "a-0"),
        (names.path_segment_problems, "system:node"),
        (names.label_key_problems, "app"),
        (names.label_key_problems, "example.com/My_Name.1"),
        (names.label_value_problems, ""),
        (names.label_value_problems, "A_b.c-1"),
    ],
)
def test_good_names_have_no_problems(check: Check, text: str) -> None:
    assert check(text) == []


@pytest.mark.parametrize(
    ("check", "text", "problem"),
    [
        (names.label_problems, "A", "a lowercase RFC 1123 label must consist"),
        (names.label_problems, "", "a lowercase RFC 1123 label must consist"),
        (names.label_problems, "a.b", "a lowercase RFC 1123 label must consist"),
        (names.label_problems, "a" * 64, "must be no more than 63 bytes"),
        (names.subdomain_problems, "a_b", "a lowercase RFC 1123 subdomain must consist"),
        (names.subdomain_problems, "a..b", "a lowercase RFC 1123 subdomain must consist"),
        (names.subdomain_problems, "a\n", "a lowercase RFC 1123 subdomain must consist"),
        (names.subdomain_problems, "a" * 254, "must be no more than 253 bytes"),
        (names.label_1035_problems, "0a", "a DNS-1035 label must consist"),
        (names.path_segment_problems, "..", "may not be '..'"),
        (names.path_segment_problems, "a/b", "may not contain '/'"),
        (names.path_segment_problems, "a%b", "may not contain '%'"),
        (names.label_key_problems, "", "name part must be non-empty"),
        (names.label_key_problems, "/a", "prefix part must be non-empty"),
        (names.label_key_problems, "A/a", "prefix part a lowercase RFC 1123 subdomain"),
        (names.label_key_problems, "a/b/c", "a qualified name must consist"),
        (names.label_key_problems, "a" * 64, "name part must be no more than 63 bytes"),
        (names.label_key_problems, "a b", "name part must consist"),
        (names.label_value_problems, "a b", "a valid label must be an empty string or consist"),
        (names.label_value_problems, "a" * 64, "must be no more than 63 bytes"),
    ],
)
def test_bad_names_are_explained(check: Check, text: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in check(text)), check(text)
