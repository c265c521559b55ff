"""Keys and their files."""

import os

import pytest

from sateen.rpc import Key, add_key, read_key, read_keys
from sateen.runtime import ArgumentError


def test_a_key_is_read_as_it_was_written(tmp_path, key):
    add_key(key, tmp_path / "folder" / "key")
    assert read_key(tmp_path / "folder" / "key") == key
    assert os.stat(tmp_path / "folder" / "key").st_mode & 0o777 == 0o600


def test_a_key_does_not_show_itself(key):
    assert key.secret.hex() not in repr(key)
    assert len(key.id) == 8
    assert key.id not in key.secret
    assert key.derived(b"a", b"x") != key.derived(b"a", b"y") != key.derived(b"b", b"y")


def test_derived_keys_are_those_of_rfc_5869():
    """Test case 1 of the RFC, A.1, has another length of secret, so this one is computed by its equations."""
    key = Key(bytes(range(32)))
    derived = key.derived(bytes.fromhex("000102030405060708090a0b0c"), b"info")
    assert derived.hex() == "3cd98102e0234987651ecd031e16650dacc14a6787d9b27fae6a302b22bfdc6c"


def test_a_file_that_others_can_read_is_refused(tmp_path, key):
    add_key(key, tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(ArgumentError, match="expected keys that only their owner may read, found mode 640"):
        read_key(tmp_path / "key")


def test_a_file_may_have_several_keys(tmp_path, key):
    other = Key.new()
    add_key(key, tmp_path / "key")
    add_key(other, tmp_path / "key")
    assert read_keys(tmp_path / "key") == [key, other]
    with pytest.raises(ArgumentError, match="expected one key, found 2"):
        read_key(tmp_path / "key")


@pytest.mark.parametrize("text", [b"", b"\xff", b"sateen-key 00", b"sateen-key " + b"g" * 64, b"x" * 10_000])
def test_other_files_are_no_keys(tmp_path, text):
    (tmp_path / "key").write_bytes(text)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(ArgumentError, match="expected keys, as `sateen rpc"):
        read_key(tmp_path / "key")
    with pytest.raises(ArgumentError, match="none: expected the file of a key: No such file"):
        read_key(tmp_path / "none")
    with pytest.raises(ArgumentError, match="expected a key of 32 bytes, found 3"):
        Key(b"abc")
