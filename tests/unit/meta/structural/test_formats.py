"""String formats: what the API server takes and what it refuses."""

import pytest

from quarterdeck.meta.structural.formats import find_format_check, is_known

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "uri": ["https://example.com/x?y", "/only/a/path", "mailto:a@b"],
    "email": ["a@example.com", "Ann <a@example.com>"],
    "hostname": ["example.com", "a"],
    "ipv4": ["10.0.0.1", "010.0.0.1"],
    "ipv6": ["::1", "2001:db8::1"],
    "cidr": ["10.0.0.0/8", "2001:db8::/32"],
    "mac": ["01:23:45:67:89:ab", "0123.4567.89ab"],
    "uuid": ["c9a646d3-9c61-4cb7-bfcd-ee2522c8f633", "C9A646D39C614CB7BFCDEE2522C8F633"],
    "uuid4": ["c9a646d3-9c61-4cb7-bfcd-ee2522c8f633"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn13": ["978 0321751041"],
    "creditcard": ["4111-1111-1111-1111"],
    "ssn": ["111-11-1111"],
    "hexcolor": ["#FFF", "ffffff"],
    "rgbcolor": ["rgb(255, 0,9)"],
    "byte": ["aGVsbG8="],
    "password": ["", "anything"],
    "date": ["2026-02-28"],
    "date-time": ["2026-01-02T03:04:05Z", "2026-01-02t03:04:05.5+01:00"],
    "duration": ["1h2m", "22 ns", "3 days"],
}
BAD = {
    "bsonobjectid": ["507f"],
    "uri": ["", "no spaces allowed", "relative"],
    "email": ["nope", "@x"],
    "hostname": ["-a", "a..b", "x" * 64],
    "ipv4": ["::1", "256.0.0.1", "1.2.3"],
    "ipv6": ["10.0.0.1", "g::1"],
    "cidr": ["10.0.0.0", "10.0.0.0/33", "x/8", "10.0.0.0/" + "9" * 5000],
    "mac": ["01:23:45:67:89", "01:23-45:67:89:ab"],
    "uuid": ["nope"],
    "uuid4": ["c9a646d3-9c61-3cb7-bfcd-ee2522c8f633"],
    "isbn": ["0321751044", "1234567890123"],
    "isbn13": ["0321751043"],
    "creditcard": ["4111-1111-1111-1112", "1"],
    "ssn": ["11-111-1111"],
    "hexcolor": ["#12", "red"],
    "rgbcolor": ["rgb(256,0,0)"],
    "byte": ["%%", ""],
    "date": ["2026-02-30", "20260228"],
    "date-time": ["2026-01-02", "2026-01-02T24:00:00Z", "2026-01-02T03:04:05"],
    "duration": ["", "1 fortnight"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in GOOD.items() for t in texts])
def test_a_good_value_passes(name: str, text: str) -> None:
    test = find_format_check(name)
    assert test is not None
    assert test(text)


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in BAD.items() for t in texts])
def test_a_bad_value_is_refused(name: str, text: str) -> None:
    test = find_format_check(name)
    assert test is not None
    assert not test(text)


def test_unknown_formats_are_only_documentation() -> None:
    assert find_format_check("int32") is None
    assert not is_known("whatever")
    assert is_known("date-time")
