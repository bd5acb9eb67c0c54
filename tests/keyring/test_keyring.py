from __future__ import annotations

import base64
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.domain.results.sealing import new_keypair, public_half
from service.keyring.keyring import FILES, Keyring, KeyringError, SigningKeyFile


def test_created_keys_load_again(tmp_path):
    made = Keyring.create(tmp_path / "keys")
    assert Keyring.load(tmp_path / "keys", private=True) == made
    assert public_half(made.opener()) == made.seal_public


def test_files_are_for_their_owner_alone(tmp_path):
    Keyring.create(tmp_path / "keys")
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == sorted(FILES)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "keys").iterdir()} == {0o600}


def test_an_existing_directory_is_closed_to_others(tmp_path):
    (tmp_path / "keys").mkdir(mode=0o755)
    Keyring.create(tmp_path / "keys")
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_existing_keys_are_never_replaced(tmp_path):
    made = Keyring.create(tmp_path)
    assert Keyring.create(tmp_path) == made


@pytest.mark.parametrize("name", ["seal.pub", "signing.key", "server.key"])
def test_a_lost_key_is_made_anew_and_the_others_stay(tmp_path, name):
    made = Keyring.create(tmp_path)
    (tmp_path / name).unlink()
    again = Keyring.create(tmp_path)
    assert again.seal_private == made.seal_private
    assert again.seal_public == made.seal_public
    assert (again.signing == made.signing) == (name != "signing.key")


def test_processes_that_start_together_agree(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        rings = list(pool.map(lambda _: Keyring.create(tmp_path), range(8)))
    assert all(ring == rings[0] for ring in rings)


def test_the_api_holds_no_private_seal_key(tmp_path):
    made = Keyring.create(tmp_path)
    (tmp_path / "seal.key").unlink()
    ring = Keyring.load(tmp_path)
    assert ring.seal_private is None
    assert ring.seal_public == made.seal_public
    with pytest.raises(KeyringError, match="only the runner"):
        ring.opener()


def test_settings_stand_in_for_files(tmp_path):
    made = Keyring.create(tmp_path)
    public, private = new_keypair()
    ring = Keyring.load(
        tmp_path,
        private=True,
        seal_public=base64.b64encode(public).decode(),
        seal_private=base64.b64encode(private).decode(),
    )
    assert (ring.seal_public, ring.seal_private, ring.server) == (public, private, made.server)


def test_keys_that_do_not_belong_together_are_refused(tmp_path):
    Keyring.create(tmp_path)
    with pytest.raises(KeyringError, match="does not belong"):
        Keyring.load(tmp_path, private=True, seal_public=base64.b64encode(new_keypair()[0]).decode())


@pytest.mark.parametrize("content", [b"", b"not base64!", b"c2hvcnQ=", b"\xff"])
def test_a_broken_file_is_named_by_its_fault(tmp_path, content):
    Keyring.create(tmp_path)
    (tmp_path / "server.key").write_bytes(content)
    with pytest.raises(KeyringError, match=r"server\.key .*; restore the keys from their backup$"):
        Keyring.load(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(KeyringError, match=r"seal\.pub: No such file.*; restore the keys from their backup$"):
        Keyring.load(tmp_path)


@pytest.mark.parametrize("given", ["not base64!", "c2hvcnQ="])
def test_a_key_that_a_setting_holds_is_named_by_the_setting(tmp_path, given):
    Keyring.create(tmp_path)
    with pytest.raises(KeyringError, match=r"^FORELOCK_SEAL_PUBLIC_KEY "):
        Keyring.load(tmp_path, seal_public=given)
    with pytest.raises(KeyringError, match=r"^FORELOCK_SEAL_PRIVATE_KEY "):
        Keyring.load(tmp_path, private=True, seal_private=given)


def test_a_keyring_prints_no_secret(tmp_path):
    ring = Keyring.create(tmp_path)
    assert repr(ring) == f"Keyring(seal_public={ring.seal_public!r})"


def test_fingerprints_tell_parts_and_purposes_apart(tmp_path):
    ring = Keyring.create(tmp_path / "one")
    prints = {
        ring.fingerprint("a", b"bc", b"d"),
        ring.fingerprint("a", b"b", b"cd"),
        ring.fingerprint("a", b"bcd"),
        ring.fingerprint("ab", b"c", b"d"),
        Keyring.create(tmp_path / "two").fingerprint("a", b"bc", b"d"),
    }
    assert len(prints) == 5
    assert ring.fingerprint("a", b"bc", b"d") in prints


def test_a_runner_holds_no_signing_key(tmp_path):
    made = Keyring.create(tmp_path)
    assert len(made.signing) == 32
    (tmp_path / "signing.key").unlink()
    assert Keyring.load(tmp_path, private=True, signs=False).signing is None
    with pytest.raises(KeyringError, match=r"signing\.key"):
        Keyring.load(tmp_path)


def test_a_signing_key_takes_the_place_of_the_one_before(tmp_path):
    made, file = Keyring.create(tmp_path), SigningKeyFile(tmp_path / "signing.key")
    assert file.read() == [made.signing]
    successor = file.prepare()
    assert file.prepare() == successor != made.signing
    assert file.read() == [made.signing, successor]
    file.take_over()
    assert file.read() == [successor] == [Keyring.load(tmp_path).signing]
    assert stat.S_IMODE((tmp_path / "signing.key").stat().st_mode) == 0o600
