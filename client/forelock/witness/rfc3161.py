"""Time stamps of RFC 3161: ask an authority, read what it answers, check it without any network."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.asn1 import Null
from cryptography.x509 import ObjectIdentifier

from forelock.witness import asn1, chain, cms
from forelock.witness.stamp import StampResult, WitnessFault, printable, require_size

CONTENT_TYPE_OF_QUERY = "application/timestamp-query"
CONTENT_TYPE_OF_REPLY = "application/timestamp-reply"
SHA256 = ObjectIdentifier("2.16.840.1.101.3.4.2.1")
GRANTED = {0, 1}
NONCE_BITS = 64


@dataclass(frozen=True, slots=True)
class TimeStamp:
    """What an authority signed, once its signature is known to hold."""

    time: datetime
    accuracy: timedelta | None
    serial: int
    policy: str
    certificate: x509.Certificate
    certificates: tuple[x509.Certificate, ...]


def make_request(data: bytes, nonce: int) -> bytes:
    """TimeStampReq for the SHA-256 of `data`, asking for the authority's certificate.

    `nonce` is random, of 64 bits: an answer to it was not made before.

    Example:
        The last three bytes are certReq TRUE.

        >>> make_request(b"", 1).hex()[-12:]
        '0201010101ff'
    """
    if not 0 < nonce < 1 << NONCE_BITS:
        raise ValueError(f"a nonce has at most {NONCE_BITS} bits and is not 0")
    imprint = asn1.RequestImprint(
        hash_algorithm=asn1.KnownAlgorithm(algorithm=SHA256, parameters=Null()),
        hashed_message=hashlib.sha256(data).digest(),
    )
    return asn1.encode(asn1.Request(version=1, message_imprint=imprint, nonce=nonce, cert_req=True))


@chain.quietly()
def read(response: bytes, data: bytes, *, nonce: int | None, others: Sequence[x509.Certificate]) -> TimeStamp:
    """Return the time stamp in a TimeStampResp, if it is one of `data` and its signature holds.

    Everything but whose it is: granted; the imprint is that of `data`; the nonce where it is known; signed
    attributes and signature; a certificate for time stamps alone, valid at that time.

    Raises:
        WitnessFault: what does not hold.
    """
    require_size(response, "time stamp")
    answer = asn1.decode(asn1.Response, response, "time stamp")
    if answer.status.status not in GRANTED or answer.token is None:
        words = " ".join(answer.status.text or ())
        raise WitnessFault(
            f"the authority refused (status {answer.status.status})"
            + (f": {printable(words)}" if words else "")
        )
    if answer.token.content_type != asn1.SIGNED_DATA:
        raise WitnessFault("the time stamp is not signed data of CMS")
    signed = asn1.decode(asn1.SignedData, answer.token.content, "time stamp")
    if signed.content.content_type != asn1.TST_INFO:
        raise WitnessFault("what was signed is not a time stamp")
    info = asn1.decode(asn1.TstInfo, signed.content.content, "time stamp's content")
    if info.version != 1:
        raise WitnessFault(f"the time stamp is of version {info.version}, and 1 is known")
    if any(extension.critical for extension in info.extensions or ()):
        raise WitnessFault("the time stamp has a critical extension, and none is known here")
    _require_imprint(info, data)
    if nonce is not None and info.nonce != nonce:
        raise WitnessFault("the time stamp answers another request: its nonce is not the one that was sent")
    certificate, candidates = cms.require_signed(signed, others)
    time = info.gen_time.as_datetime()
    chain.require_time_stamping(certificate, time)
    return TimeStamp(
        time, _accuracy(info.accuracy), info.serial, info.policy.dotted_string, certificate, tuple(candidates)
    )


@chain.quietly()
def verify(
    response: bytes, data: bytes, roots: Sequence[x509.Certificate] = (), *, nonce: int | None = None
) -> StampResult:
    """Return what a time stamp of `data` says, and whether a root that was given vouches for it.

    Raises:
        WitnessFault: what does not hold.
    """
    stamp = read(response, data, nonce=nonce, others=roots)
    name = chain.name_of(stamp.certificate)
    off = "" if stamp.accuracy is None else f", give or take {stamp.accuracy.total_seconds():g} s"
    at = f"{stamp.time:%Y-%m-%d %H:%M:%S} UTC{off}"
    if not roots:
        claim = (
            f"a time stamp of {at} holds, signed by a key that calls itself {name}; whose key it is was not checked: "
            "give the authority's root certificate"
        )
        return StampResult("rfc3161", "unrooted", None, (claim,))
    chain.require_chain(stamp.certificate, stamp.certificates, roots, stamp.time)
    return StampResult(
        "rfc3161", "verified", stamp.time, (f"the time stamp authority {name} saw these bytes on {at}",)
    )


def _require_imprint(info: asn1.TstInfo, data: bytes) -> None:
    oid = asn1.algorithm_oid(info.imprint.hash_algorithm, "time stamp's imprint")
    if oid != SHA256:
        raise WitnessFault(f"the time stamp is of a hash by {oid.dotted_string}, and SHA-256 was asked for")
    if not hmac.compare_digest(info.imprint.hashed_message, hashlib.sha256(data).digest()):
        raise WitnessFault("the time stamp is of other bytes than these")


def _accuracy(given: asn1.Accuracy | None) -> timedelta | None:
    """Return how far the time may be off; null where the authority does not say."""
    if given is None:
        return None
    seconds, millis, micros = given.seconds or 0, given.millis or 0, given.micros or 0
    if not (0 <= seconds <= 10**9 and 0 <= millis <= 999 and 0 <= micros <= 999):
        raise WitnessFault("the time stamp states an impossible accuracy")
    return timedelta(seconds=seconds, milliseconds=millis, microseconds=micros)
