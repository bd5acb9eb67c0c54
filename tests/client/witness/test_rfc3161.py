"""Time stamps: made by `openssl ts` and by a public authority, and every way in which one does not hold."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import ssl
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import strategies as st

from forelock.witness import asn1, chain, checking, rfc3161
from forelock.witness.stamp import MAX_STAMP_BYTES, Stamp, WitnessFault
from tests.authority import Authority

CHECKPOINT = b"forelock.example/log\n7\nqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo=\n"
NONCE = 0x1234567890ABCDEF
SIGSTORE = json.loads((Path(__file__).parent / "sigstore.json").read_text())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def token(authority: Authority) -> bytes:
    return authority.answer(rfc3161.make_request(CHECKPOINT, NONCE))


def fault(authority: Authority, response: bytes, data: bytes = CHECKPOINT, nonce: int | None = None) -> str:
    with pytest.raises(WitnessFault) as caught:
        rfc3161.verify(response, data, [authority.root], nonce=nonce)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 300
    return said


def test_a_stamp_of_openssl_verifies(authority: Authority, token: bytes) -> None:
    assert authority.accepts(token, CHECKPOINT)
    found = rfc3161.verify(token, CHECKPOINT, [authority.root], nonce=NONCE)
    assert found.state == "verified"
    assert found.time is not None
    assert found.time.tzinfo is not None
    (said,) = found.sentences
    assert "CN=Stamps of tests" in said
    assert "give or take 1.5001 s" in said


def test_the_same_through_the_door_of_the_package(authority: Authority, token: bytes) -> None:
    found = checking.verify(Stamp("rfc3161", token), CHECKPOINT, [authority.root])
    assert found == rfc3161.verify(token, CHECKPOINT, [authority.root])


@pytest.mark.parametrize(
    ("rsa_key", "digest", "identifier", "intermediate"),
    [(True, "sha256", "sha1", False), (True, "sha512", "sha512", True), (False, "sha384", "sha256", True)],
)
def test_keys_hashes_and_chains(
    tmp_path: Path, rsa_key: bool, digest: str, identifier: str, intermediate: bool
) -> None:
    authority = Authority.create(
        tmp_path, rsa_key=rsa_key, digest=digest, identifier=identifier, intermediate=intermediate
    )
    response = authority.answer(rfc3161.make_request(CHECKPOINT, NONCE))
    assert authority.accepts(response, CHECKPOINT)
    assert rfc3161.verify(response, CHECKPOINT, [authority.root], nonce=NONCE).state == "verified"


@pytest.mark.parametrize("name", ["a.dsse.staging-rekor-v2"])
def test_against_a_public_authority(name: str) -> None:
    """The staging authority of Sigstore on a signature, from the test assets of sigstore-python."""
    case = SIGSTORE[name]
    data, response = base64.b64decode(case["data"]), base64.b64decode(case["response"])
    chain = [x509.load_der_x509_certificate(base64.b64decode(each)) for each in case["certificates"]]
    found = rfc3161.verify(response, data, chain)
    assert found.state == "verified"
    assert found.time is not None
    assert found.time.isoformat() == "2025-06-09T21:06:28+00:00"
    with pytest.raises(WitnessFault, match="other bytes"):
        rfc3161.verify(response, data + b".", chain)


def test_without_a_root_nothing_is_claimed(token: bytes) -> None:
    found = rfc3161.verify(token, CHECKPOINT)
    assert (found.state, found.time) == ("unrooted", None)
    assert "was not checked" in found.sentences[0]


def test_another_root_vouches_for_nothing(token: bytes, tmp_path: Path) -> None:
    stranger = Authority.create(tmp_path)
    assert "does not lead to a root" in fault(stranger, token)


def test_a_signer_is_no_root(authority: Authority, token: bytes) -> None:
    with pytest.raises(WitnessFault, match="none of the certificates given is a root"):
        rfc3161.verify(token, CHECKPOINT, [authority.signer])


def test_other_bytes_and_other_nonces_are_refused(authority: Authority, token: bytes) -> None:
    assert fault(authority, token, CHECKPOINT + b"x") == "the time stamp is of other bytes than these"
    assert "nonce" in fault(authority, token, nonce=NONCE + 1)


def test_a_refusal_is_told(authority: Authority) -> None:
    response = authority.answer(b"no request")
    assert fault(authority, response).startswith("the authority refused (status 2)")


def test_a_weak_key_stamps_nothing(tmp_path: Path) -> None:
    """A key that can be computed signs whatever time somebody likes."""
    weak = Authority.create(tmp_path / "signer", rsa_key=True, rsa_bits=1024)
    response = weak.answer(rfc3161.make_request(CHECKPOINT, NONCE))
    assert fault(weak, response) == "the time stamp's signer has an RSA key of 1024 bits; 2048 are the least"
    with pytest.raises(WitnessFault, match="1024 bits"):
        rfc3161.verify(response, CHECKPOINT)
    above = Authority.create(tmp_path / "root", root_bits=1024)
    response = above.answer(rfc3161.make_request(CHECKPOINT, NONCE))
    assert rfc3161.verify(response, CHECKPOINT).state == "unrooted"
    said = fault(above, response)
    assert "1024 bits" in said or "does not lead to a root" in said


def test_the_least_keys_are_taken() -> None:
    for key in (rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP224R1())):
        chain.require_strong(key.public_key(), "signer")
    with pytest.raises(WitnessFault, match="a curve of 192 bits"):
        chain.require_strong(ec.generate_private_key(ec.SECP192R1()).public_key(), "signer")


def flipped(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def test_a_flipped_bit_ends_in_a_sentence(authority: Authority, token: bytes) -> None:
    """Whole or refused: a certificate's parts are parsed when they are asked for, and may fail there."""
    held = 0
    for bit in random.Random(26).sample(range(8 * len(token)), 800):
        for roots in ((), (authority.root,)):
            try:
                held += rfc3161.verify(flipped(token, bit), CHECKPOINT, roots).state == "verified"
            except WitnessFault as refused:
                assert "\n" not in str(refused)
    assert held < 60  # bits that nothing signs: the status, certificates that lead nowhere


def test_a_damaged_root_ends_in_a_sentence(authority: Authority, token: bytes) -> None:
    der = authority.root.public_bytes(Encoding.DER)
    for bit in range(0, 8 * len(der), 6):
        pem = ssl.DER_cert_to_PEM_cert(flipped(der, bit)).encode()
        with contextlib.suppress(WitnessFault):
            rfc3161.verify(token, CHECKPOINT, chain.read_certificates(pem))


@pytest.mark.parametrize("days", [(-30, -10), (10, 30)])
def test_a_certificate_that_was_not_valid_then(tmp_path: Path, days: tuple[int, int]) -> None:
    authority = Authority.create(tmp_path, days=days)
    response = authority.answer(rfc3161.make_request(CHECKPOINT, NONCE))
    assert "is valid from" in fault(authority, response)


def forged(authority: Authority, other: Authority, response: bytes) -> bytes:
    """The same time stamp under the key and certificate of another authority, signed as it has to be."""
    return sign_anew(authority, other.signer, key_of(other), response)


def key_of(authority: Authority):
    return load_pem_private_key((authority.directory / "key.pem").read_bytes(), None)


def tlv(tag: int, *parts: bytes) -> bytes:
    return asn1.der(tag, b"".join(parts))


def oid(dotted: str) -> bytes:
    return asn1.encode(asn1.KnownAlgorithm(algorithm=x509.ObjectIdentifier(dotted), parameters=None))[2:]


SHA256_ID = tlv(0x30, oid("2.16.840.1.101.3.4.2.1"))


def sign_anew(
    authority: Authority,
    certificate: x509.Certificate,
    key,
    response: bytes,
    *,
    algorithm: bytes | None = None,
    pss: bool = False,
    named: x509.Certificate | None = None,
    identified: bool = True,
) -> bytes:
    """A token of our own making around the TSTInfo of `response`: what `openssl ts` would not sign."""
    signed = asn1.decode(asn1.SignedData, asn1.decode(asn1.Response, response, "r").token.content, "s")
    content = signed.content.content
    hasher = hashes.Hash(hashes.SHA256())
    hasher.update(content)
    attributes = [
        tlv(0x30, oid("1.2.840.113549.1.9.3"), tlv(0x31, oid("1.2.840.113549.1.9.16.1.4"))),
        tlv(0x30, oid("1.2.840.113549.1.9.4"), tlv(0x31, tlv(0x04, hasher.finalize()))),
    ]
    if identified:
        identifier = tlv(
            0x30, tlv(0x30, tlv(0x30, tlv(0x04, (named or certificate).fingerprint(hashes.SHA256()))))
        )
        attributes.append(tlv(0x30, oid("1.2.840.113549.1.9.16.2.47"), tlv(0x31, identifier)))
    attributes.sort()
    to_sign = tlv(0x31, *attributes)
    if isinstance(key, rsa.RSAPrivateKey):
        scheme = padding.PSS(padding.MGF1(hashes.SHA256()), 32) if pss else padding.PKCS1v15()
        signature = key.sign(to_sign, scheme, hashes.SHA256())
        algorithm = algorithm or tlv(0x30, oid("1.2.840.113549.1.1.1"), b"\x05\x00")
    else:
        signature = key.sign(to_sign, ec.ECDSA(hashes.SHA256()))
        algorithm = algorithm or tlv(0x30, oid("1.2.840.10045.4.3.2"))
    serial = asn1.encode(asn1.IssuerSerial(issuer=[], serial=certificate.serial_number))
    serial = serial[serial.index(b"\x30\x00") + 2 :]
    signer = tlv(
        0x30,
        b"\x02\x01\x01",
        tlv(0x30, certificate.issuer.public_bytes(), serial),
        SHA256_ID,
        tlv(0xA0, *attributes),
        algorithm,
        tlv(0x04, signature),
    )
    data = tlv(
        0x30,
        b"\x02\x01\x03",
        tlv(0x31, SHA256_ID),
        tlv(0x30, oid("1.2.840.113549.1.9.16.1.4"), tlv(0xA0, tlv(0x04, content))),
        tlv(0xA0, certificate.public_bytes(Encoding.DER)),
        tlv(0x31, signer),
    )
    return tlv(0x30, tlv(0x30, b"\x02\x01\x00"), tlv(0x30, oid("1.2.840.113549.1.7.2"), tlv(0xA0, data)))


@pytest.mark.parametrize(
    ("usage", "critical"),
    [
        ((ExtendedKeyUsageOID.CODE_SIGNING,), True),
        ((ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.CODE_SIGNING), True),
        ((ExtendedKeyUsageOID.TIME_STAMPING,), False),
        ((), True),
    ],
)
def test_a_key_for_something_else_stamps_nothing(
    authority: Authority, token: bytes, tmp_path: Path, usage: tuple, critical: bool
) -> None:
    """`openssl ts` refuses such certificates; a signer of our own does not."""
    other = Authority.create(tmp_path, usage=usage, critical=critical)
    assert "not for time stamps" in fault(other, forged(authority, other, token))


def test_a_key_that_may_not_sign(authority: Authority, token: bytes, tmp_path: Path) -> None:
    other = Authority.create(tmp_path, signs=False)
    assert "not for signatures" in fault(other, forged(authority, other, token))


def test_a_token_of_our_own_making_verifies(authority: Authority, token: bytes) -> None:
    """So that the refusals of its kind are refusals of what is wrong with them alone."""
    made = sign_anew(authority, authority.signer, key_of(authority), token)
    assert authority.accepts(made, CHECKPOINT)
    assert rfc3161.verify(made, CHECKPOINT, [authority.root]).state == "verified"


def pss_parameters(hash_id: bytes = SHA256_ID, mask_hash: bytes = SHA256_ID) -> bytes:
    mask = tlv(0x30, oid("1.2.840.113549.1.1.8"), mask_hash)
    return tlv(
        0x30,
        oid("1.2.840.113549.1.1.10"),
        tlv(0x30, tlv(0xA0, hash_id), tlv(0xA1, mask), tlv(0xA2, b"\x02\x01\x20")),
    )


def test_rsa_pss(authority: Authority, token: bytes, tmp_path: Path) -> None:
    other = Authority.create(tmp_path, rsa_key=True)
    key = key_of(other)
    made = sign_anew(authority, other.signer, key, token, algorithm=pss_parameters(), pss=True)
    assert rfc3161.verify(made, CHECKPOINT, [other.root]).state == "verified"
    plain = sign_anew(authority, other.signer, key, token, algorithm=pss_parameters())
    assert "altered or forged" in fault(other, plain)
    weak = tlv(0x30, oid("1.2.840.113549.1.1.10"), tlv(0x30))
    assert "SHA-1" in fault(other, sign_anew(authority, other.signer, key, token, algorithm=weak, pss=True))
    other_hash = pss_parameters(tlv(0x30, oid("2.16.840.1.101.3.4.2.3")))
    assert "different hashes" in fault(
        other, sign_anew(authority, other.signer, key, token, algorithm=other_hash, pss=True)
    )


def test_a_certificate_that_is_not_named_or_is_another(
    authority: Authority, token: bytes, tmp_path: Path
) -> None:
    other = Authority.create(tmp_path)
    key = key_of(authority)
    swapped = sign_anew(authority, authority.signer, key, token, named=other.signer)
    assert "names another certificate" in fault(authority, swapped)
    unnamed = sign_anew(authority, authority.signer, key, token, identified=False)
    assert "ESSCertID" in fault(authority, unnamed)


def test_an_unknown_signature_algorithm_is_named(authority: Authority, token: bytes) -> None:
    odd = sign_anew(
        authority, authority.signer, key_of(authority), token, algorithm=tlv(0x30, oid("1.3.101.112"))
    )
    assert "1.3.101.112" in fault(authority, odd)


def test_every_changed_byte_is_refused_or_changes_nothing(authority: Authority, token: bytes) -> None:
    """What still verifies says the same time of the same bytes: the status text and unsigned parts may differ."""
    honest = rfc3161.verify(token, CHECKPOINT, [authority.root], nonce=NONCE)
    passed = 0
    for place in range(len(token)):
        changed = bytearray(token)
        changed[place] ^= 1 + place % 255
        try:
            found = rfc3161.verify(bytes(changed), CHECKPOINT, [authority.root], nonce=NONCE)
        except WitnessFault as said:
            assert "\n" not in str(said)
        else:
            assert found == honest
            passed += 1
    assert passed < 25


def test_every_truncation_is_refused(authority: Authority, token: bytes) -> None:
    for length in range(len(token)):
        with pytest.raises(WitnessFault):
            rfc3161.verify(token[:length], CHECKPOINT, [authority.root])
    with pytest.raises(WitnessFault):
        rfc3161.verify(token + b"\x00", CHECKPOINT, [authority.root])


@given(st.binary(max_size=400))
def test_any_bytes_end_in_one_sentence(data: bytes) -> None:
    with pytest.raises(WitnessFault):
        rfc3161.verify(data, CHECKPOINT)


def test_what_is_too_large_is_not_read() -> None:
    with pytest.raises(WitnessFault, match="none has more than"):
        rfc3161.verify(bytes(MAX_STAMP_BYTES + 1), CHECKPOINT)


def test_a_request_is_what_openssl_reads(authority: Authority, tmp_path: Path) -> None:
    path = tmp_path / "query"
    path.write_bytes(rfc3161.make_request(CHECKPOINT, NONCE))
    said = subprocess.run(
        ["openssl", "ts", "-query", "-in", str(path), "-text"], check=True, capture_output=True, text=True
    ).stdout
    assert "Hash Algorithm: sha256" in said
    assert "Nonce: 0x1234567890ABCDEF" in said
    assert "Certificate required: yes" in said


@pytest.mark.parametrize("nonce", [0, 1 << 64, -1])
def test_a_nonce_has_64_bits(nonce: int) -> None:
    with pytest.raises(ValueError, match="nonce"):
        rfc3161.make_request(CHECKPOINT, nonce)


def test_roots_are_pem() -> None:
    with pytest.raises(WitnessFault, match="PEM"):
        chain.read_certificates(b"nothing")
