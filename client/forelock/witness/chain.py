"""Whose signature it is: from a signer's certificate to a root that the reader trusts, at a moment in the past."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID

from forelock.witness.stamp import WitnessFault, printable

MAX_CERTIFICATES = 32
MAX_ROOTS_BYTES = 4 * 1024 * 1024

LEAST_RSA_BITS, LEAST_CURVE_BITS = 2048, 224
"""Keys below are not worth a proof (NIST SP 800-131A): whoever can afford to breaks one of them signs what he likes."""

Certificates = Sequence[x509.Certificate]
UNREADABLE = (
    ValueError, TypeError, OverflowError, UnsupportedAlgorithm, x509.InvalidVersion, x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)  # fmt: skip
"""What `cryptography` raises of a certificate that was damaged, when a part of it is asked for."""


@contextmanager
def quietly() -> Iterator[None]:
    """No warnings about certificates that are odd, such as old roots without a serial number, on a terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        yield


@quietly()
def read_certificates(pem: bytes) -> list[x509.Certificate]:
    """Certificates of a PEM file: roots, and whatever leads to them.

    Raises:
        WitnessFault: no certificate, or one that cannot be read.
    """
    if len(pem) > MAX_ROOTS_BYTES:
        raise WitnessFault(f"the file of roots has more than {MAX_ROOTS_BYTES} bytes")
    try:
        certificates = x509.load_pem_x509_certificates(pem)
        for certificate in certificates:
            _read_names(certificate)
    except UNREADABLE as error:
        raise WitnessFault(
            "the file of roots holds no certificate in PEM, or one that cannot be read"
        ) from error
    return certificates


def read_certificate(der: bytes) -> x509.Certificate:
    """Return a certificate of a time stamp, of which the parts that are asked for later can be read.

    Raises:
        WitnessFault: it was damaged.
    """
    try:
        certificate = x509.load_der_x509_certificate(der)
        _read_names(certificate)
    except UNREADABLE as error:
        raise WitnessFault("a certificate in the time stamp cannot be read") from error
    return certificate


def _read_names(certificate: x509.Certificate) -> None:
    """Have what is parsed only when it is asked for parsed here."""
    _ = certificate.issuer, certificate.subject, certificate.serial_number
    _ = certificate.not_valid_before_utc, certificate.not_valid_after_utc


def require_strong(key: CertificatePublicKeyTypes, what: str) -> None:
    """Refuse a key that somebody else may have computed.

    Raises:
        WitnessFault: RSA below 2,048 bits, or a curve below 224.
    """
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
        raise WitnessFault(
            f"the {what} has an RSA key of {key.key_size} bits; {LEAST_RSA_BITS} are the least"
        )
    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size < LEAST_CURVE_BITS:
        raise WitnessFault(f"the {what} has a curve of {key.key_size} bits; {LEAST_CURVE_BITS} are the least")


def require_time_stamping(certificate: x509.Certificate, at: datetime) -> None:
    """Refuse a certificate that was not valid then, or that is not for time stamps alone (RFC 3161, 2.3).

    Raises:
        WitnessFault: what is wrong with it.
    """
    name = name_of(certificate)
    if not certificate.not_valid_before_utc <= at <= certificate.not_valid_after_utc:
        raise WitnessFault(
            f"the certificate of {name} is valid from {certificate.not_valid_before_utc:%Y-%m-%d} to "
            f"{certificate.not_valid_after_utc:%Y-%m-%d}, and the time stamp says {at:%Y-%m-%d}"
        )
    try:
        extensions = certificate.extensions
    except UNREADABLE as error:
        raise WitnessFault(f"the certificate of {name} has extensions that cannot be read") from error
    try:
        usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except x509.ExtensionNotFound:
        raise WitnessFault(
            f"the certificate of {name} is not for time stamps: it names no such usage"
        ) from None
    if list(usage.value) != [ExtendedKeyUsageOID.TIME_STAMPING] or not usage.critical:
        raise WitnessFault(
            f"the certificate of {name} is not for time stamps alone: its extended key usage has to be "
            "id-kp-timeStamping, critical, and nothing else"
        )
    try:
        key_usage = extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return
    if not (key_usage.digital_signature or key_usage.content_commitment):
        raise WitnessFault(f"the certificate of {name} is not for signatures: its key usage leaves them out")


def require_chain(leaf: x509.Certificate, others: Certificates, given: Certificates, at: datetime) -> None:
    """Refuse a certificate that does not lead to a given root as things stood then.

    Of what is `given`, certificates that name themselves as issuer are roots; the rest may stand on the way to one.
    Paths are built by `cryptography`: RSA from 2,048 bits and the NIST curves, SHA-256 or stronger, names and path
    lengths checked. Whether a certificate was revoked is not asked: nothing here uses the network.

    Raises:
        WitnessFault: nothing leads there.
    """
    roots = [certificate for certificate in given if certificate.issuer == certificate.subject]
    way = [other for other in (*others, *given) if other.issuer != other.subject][:MAX_CERTIFICATES]
    if not roots:
        raise WitnessFault("none of the certificates given is a root: a root names itself as its issuer")
    verifier = (
        verification.PolicyBuilder()
        .store(verification.Store(roots))
        .time(at)
        .max_chain_depth(8)
        .extension_policies(ca_policy=_AUTHORITIES, ee_policy=verification.ExtensionPolicy.permit_all())
        .build_client_verifier()
    )
    try:
        chain = verifier.verify(leaf, way).chain
    except (verification.VerificationError, *UNREADABLE) as error:
        raise WitnessFault(
            f"the certificate of {name_of(leaf)} does not lead to a root that was given, as of {at:%Y-%m-%d}"
        ) from error
    for certificate in chain:
        require_strong(certificate.public_key(), f"certificate of {name_of(certificate)}")


def _may_sign_certificates(
    _policy: verification.Policy, _certificate: x509.Certificate, usage: x509.KeyUsage | None
) -> None:
    if usage is not None and not usage.key_cert_sign:
        raise ValueError("its key may not sign certificates")


def _is_authority(
    _policy: verification.Policy, _certificate: x509.Certificate, constraints: x509.BasicConstraints
) -> None:
    if not constraints.ca:
        raise ValueError("it is no authority")


_AUTHORITIES = (
    verification.ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, verification.Criticality.AGNOSTIC, _is_authority)
    .may_be_present(x509.KeyUsage, verification.Criticality.AGNOSTIC, _may_sign_certificates)
)


def name_of(certificate: x509.Certificate) -> str:
    """Return a certificate's subject on one line."""
    try:
        return printable(certificate.subject.rfc4514_string())
    except ValueError:
        return "an unreadable name"
