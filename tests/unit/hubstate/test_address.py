"""Redis URLs."""

import pytest

from quarterdeck.hubstate.redis.address import InvalidAddress, Mode, RedisAddress, Tls


@pytest.mark.parametrize(
    ("url", "hosts", "mode", "db"),
    [
        ("redis://r", (("r", 6379),), Mode.SINGLE, 0),
        ("redis://u:p%40w@r:1/4", (("r", 1),), Mode.SINGLE, 4),
        ("redis+sentinel://a,b:5/m/2", (("a", 26379), ("b", 5)), Mode.SENTINEL, 2),
        ("redis+cluster://a,b", (("a", 6379), ("b", 6379)), Mode.CLUSTER, 0),
        ("redis://[::1]:7", (("::1", 7),), Mode.SINGLE, 0),
    ],
)
def test_a_url_is_read(url: str, hosts: tuple[tuple[str, int], ...], mode: Mode, db: int) -> None:
    address = RedisAddress.parse(url)
    assert (address.hosts, address.mode, address.db) == (hosts, mode, db)


def test_credentials_are_kept_and_not_shown() -> None:
    address = RedisAddress.parse("rediss://u:p%40w@r/1?ca=/ca.pem&verify=false")
    assert (address.username, address.password.reveal()) == ("u", "p@w")
    assert address.tls == Tls(ca="/ca.pem", verify=False)
    assert str(address) == "rediss://r:6379/1"
    assert "p@w" not in repr(address)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://r", "must begin with"),
        ("redis://", "must begin with"),
        ("redis://:secret@", "no host"),
        ("redis://r:port", "not a host and port"),
        ("redis://r/x", "database number"),
        ("redis://r/²", "database number"),
        ("redis+sentinel://r", "master"),
        ("redis+cluster://r/1", "must be 0"),
        ("redis://r?color=red", "color"),
        ("redis://r?replicas=many", "replicas in the Redis URL must be a number from 0 to 16"),
        ("redis://r?replicas=17", "must be a number from 0 to 16, not '17'"),
        ("redis+cluster://r?replicas=1", "cannot be used with redis.cluster"),
    ],
)
def test_a_bad_url_says_what_is_wrong(url: str, why: str) -> None:
    with pytest.raises(InvalidAddress, match=why) as caught:
        RedisAddress.parse(url)
    assert "secret" not in str(caught.value)
