"""Sealed values: which can be opened, and what is said of those that cannot."""

import pytest

from quarterdeck.storage import OpenFailed, StoreKey
from quarterdeck.storage.encryption import Cipher, EncryptionKey

OLD, NEW = EncryptionKey("old", b"o" * 32), EncryptionKey("new", b"n" * 32)
KEY = StoreKey("secrets", "a", "x")
CIPHER = Cipher({"secrets": NEW}, [NEW, OLD])


def test_every_known_key_opens_and_the_first_one_seals() -> None:
    before = Cipher({"secrets": OLD}, [OLD]).encrypt(KEY, b"text")
    now = CIPHER.encrypt(KEY, b"text")
    assert b"text" not in before and b"text" not in now
    assert [CIPHER.decrypt(KEY, value) for value in (before, now, b"text")] == [b"text"] * 3
    assert [CIPHER.is_current(KEY, value) for value in (before, now, b"text")] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(b"k8s:enc:aesgcm:v1:lost:xyz", "the key 'lost'; add that key", id="key"),
        pytest.param(
            b"k8s:enc:kms:v2:new:xyz", "by the provider 'kms:v2', and only", id="provider"
        ),
        pytest.param(b"k8s:enc:aesgcm:v1:new:" + bytes(40), "another key than 'new'", id="changed"),
    ],
)
def test_what_cannot_be_opened_is_named(value: bytes, words: str) -> None:
    with pytest.raises(OpenFailed, match=f"cannot decrypt secrets/a/x: .*{words}"):
        CIPHER.decrypt(KEY, value)


def test_a_sealed_value_is_bound_to_its_object() -> None:
    sealed = CIPHER.encrypt(KEY, b"text")
    with pytest.raises(OpenFailed, match="secrets/a/y"):
        CIPHER.decrypt(StoreKey("secrets", "a", "y"), sealed)


def test_other_resources_and_deletions_stay_plain() -> None:
    assert CIPHER.encrypt(StoreKey("pods", "a", "x"), b"text") == b"text"
    assert CIPHER.encrypt(KEY, b"") == b""
    assert CIPHER.is_current(KEY, b"")
    assert CIPHER.resources == ["secrets"]


def test_two_resources_may_have_keys_of_one_name() -> None:
    first, second = EncryptionKey("key1", b"a" * 32), EncryptionKey("key1", b"b" * 32)
    pod = StoreKey("pods", "a", "x")
    sealing = {"secrets": first, "pods": second}
    sealed = Cipher(sealing, [first, second])
    values = {key: sealed.encrypt(key, b"text") for key in (KEY, pod)}
    opened = Cipher(sealing, [first, second])  # as after a restart
    for key, value in values.items():
        assert opened.decrypt(key, value) == b"text"
        assert opened.is_current(key, value)
    assert Cipher({"pods": second}, [second]).decrypt(pod, values[pod]) == b"text"
    swapped = Cipher({"secrets": second, "pods": first}, [first, second])
    for key, value in values.items():
        assert swapped.decrypt(key, value) == b"text"
        assert not swapped.is_current(key, value)
