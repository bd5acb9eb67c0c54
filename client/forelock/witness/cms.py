"""Signed data of CMS (RFC 5652) as time stamp authorities use it: one signer, signed attributes, certificates."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.asn1 import TLV
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ObjectIdentifier

from forelock.witness import asn1
from forelock.witness.chain import MAX_CERTIFICATES, UNREADABLE, read_certificate, require_strong
from forelock.witness.stamp import WitnessFault

HASHES: dict[str, hashes.HashAlgorithm] = {
    "2.16.840.1.101.3.4.2.1": hashes.SHA256(),
    "2.16.840.1.101.3.4.2.2": hashes.SHA384(),
    "2.16.840.1.101.3.4.2.3": hashes.SHA512(),
}
RSA, RSA_PSS, EC, MGF1 = (
    "1.2.840.113549.1.1.1",
    "1.2.840.113549.1.1.10",
    "1.2.840.10045.2.1",
    "1.2.840.113549.1.1.8",
)
RSA_WITH = {
    "1.2.840.113549.1.1.11": hashes.SHA256(),
    "1.2.840.113549.1.1.12": hashes.SHA384(),
    "1.2.840.113549.1.1.13": hashes.SHA512(),
}
ECDSA_WITH = {
    "1.2.840.10045.4.3.2": hashes.SHA256(),
    "1.2.840.10045.4.3.3": hashes.SHA384(),
    "1.2.840.10045.4.3.4": hashes.SHA512(),
}

CONSTRUCTED_SET, CONSTRUCTED_SEQUENCE = 0x31, 0x30
SIGNED_ATTRIBUTES, KEY_IDENTIFIER, DIRECTORY_NAME = 0xA0, 0x80, 0xA4


def hash_of(algorithm: list[TLV], what: str) -> hashes.HashAlgorithm:
    """Return a hash by its identifier; weak ones are refused."""
    return _hash_of_oid(asn1.algorithm_oid(algorithm, what).dotted_string, what)


def _hash_of_oid(oid: str, what: str) -> hashes.HashAlgorithm:
    """Return a hash by its object identifier; weak ones are refused."""
    if oid not in HASHES:
        raise WitnessFault(f"the {what} uses the hash {oid}; SHA-256, SHA-384 and SHA-512 are accepted")
    return HASHES[oid]


def require_signed(
    signed: asn1.SignedData, others: Sequence[x509.Certificate]
) -> tuple[x509.Certificate, list[x509.Certificate]]:
    """Return the certificate whose key signed the content, and all that may lead from it to a root.

    `others` stand in where the token brings no certificates. Checked: one signer; content type and message digest
    among the signed attributes; the signer's certificate named by its hash there (ESSCertID, RFC 2634 and 5035); the
    signature over the attributes.

    Raises:
        WitnessFault: what does not hold.
    """
    signers = signed.signers.as_list()
    if len(signers) != 1:
        raise WitnessFault(f"the time stamp has {len(signers)} signers, and an authority signs alone")
    signer = signers[0]
    candidates = [*_certificates(signed), *others]
    certificate = _certificate_of(signer, candidates)
    attributes = _attributes(signer)
    digest = hash_of(signer.digest_algorithm, "time stamp")
    kind = asn1.decode(ObjectIdentifier, _only(attributes, asn1.CONTENT_TYPE, "content type"), "content type")
    if kind != signed.content.content_type:
        raise WitnessFault("the time stamp's signed content type is not that of its content")
    stated = asn1.decode(bytes, _only(attributes, asn1.MESSAGE_DIGEST, "message digest"), "message digest")
    if not hmac.compare_digest(stated, _hash(digest, signed.content.content)):
        raise WitnessFault("the time stamp's content was altered: its signed message digest is another's")
    _require_named_certificate(attributes, certificate)
    _require_signature(signer, certificate, digest)
    return certificate, candidates


def _certificates(signed: asn1.SignedData) -> list[x509.Certificate]:
    """Return the certificates that the token brings; other kinds of them are passed over."""
    elements = [
        certificate
        for certificate in signed.certificates or []
        if asn1.tag(certificate) == CONSTRUCTED_SEQUENCE
    ]
    if len(elements) > MAX_CERTIFICATES:
        raise WitnessFault(f"the time stamp brings more than {MAX_CERTIFICATES} certificates")
    return [read_certificate(asn1.whole(element)) for element in elements]


def _certificate_of(signer: asn1.Signer, candidates: Sequence[x509.Certificate]) -> x509.Certificate:
    """Return the signer's certificate among the candidates, by issuer and serial number or by its key's identifier."""
    tag = asn1.tag(signer.signer)
    for candidate in candidates:
        if tag == CONSTRUCTED_SEQUENCE:
            named = asn1.decode(asn1.IssuerAndSerial, signer.signer, "signer's name")
            if (
                named.serial == candidate.serial_number
                and asn1.whole(named.issuer) == candidate.issuer.public_bytes()
            ):
                return candidate
        elif tag == KEY_IDENTIFIER and _key_identifier(candidate) == bytes(signer.signer.data):
            return candidate
    raise WitnessFault(
        "the time stamp does not bring its signer's certificate: add that certificate to the file of roots"
    )


def _key_identifier(certificate: x509.Certificate) -> bytes | None:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except (x509.ExtensionNotFound, *UNREADABLE):
        return None


def _attributes(signer: asn1.Signer) -> list[asn1.Attribute]:
    """Return the signed attributes, in DER's order."""
    if asn1.tag(signer.signed_attributes) != SIGNED_ATTRIBUTES:
        raise WitnessFault("the time stamp has no signed attributes")
    wrapped = asn1.der(CONSTRUCTED_SEQUENCE, _signed_bytes(signer))
    return asn1.decode(asn1.Attributes, wrapped, "time stamp's signed attributes").attributes.as_list()


def _signed_bytes(signer: asn1.Signer) -> bytes:
    """Return what is signed: the attributes as a SET OF instead of under their tag (RFC 5652, 5.4)."""
    return asn1.der(CONSTRUCTED_SET, bytes(signer.signed_attributes.data))


def _only(attributes: Sequence[asn1.Attribute], wanted: ObjectIdentifier, what: str) -> TLV:
    """Return the one value of an attribute that stands there once."""
    values = [
        value for attribute in attributes if attribute.type == wanted for value in attribute.values.as_list()
    ]
    if len(values) != 1:
        raise WitnessFault(
            f"the time stamp's signed attributes have the {what} {len(values)} times, not once"
        )
    return values[0]


def _require_named_certificate(attributes: Sequence[asn1.Attribute], certificate: x509.Certificate) -> None:
    """The signer's certificate is named by its hash, so that no other one of the same key can stand in."""
    encoded = certificate.public_bytes(Encoding.DER)
    count = 0
    for attribute in attributes:
        if attribute.type not in {asn1.SIGNING_CERTIFICATE, asn1.SIGNING_CERTIFICATE_V2}:
            continue
        value = _only(attributes, attribute.type, "signing certificate")
        named = asn1.decode(asn1.SigningCertificate, value, "signing certificate").certificates
        if not named:
            raise WitnessFault("the time stamp's signing certificate attribute names none")
        identifier: asn1.CertificateId | asn1.CertificateIdV2
        if attribute.type == asn1.SIGNING_CERTIFICATE:
            identifier = asn1.decode(asn1.CertificateId, named[0], "certificate's identifier")
            digest = hashlib.sha1(encoded, usedforsecurity=False).digest()
        else:
            identifier = asn1.decode(asn1.CertificateIdV2, named[0], "certificate's identifier")
            algorithm = identifier.hash_algorithm
            digest = _hash(hash_of(algorithm, "time stamp") if algorithm else hashes.SHA256(), encoded)
        if not hmac.compare_digest(identifier.hash, digest) or not _same_issuer(
            identifier.issuer_serial, certificate
        ):
            raise WitnessFault("the time stamp names another certificate than the one whose key signed it")
        count += 1
    if not count:
        raise WitnessFault("the time stamp does not name its signer's certificate (ESSCertID)")


def _same_issuer(named: asn1.IssuerSerial | None, certificate: x509.Certificate) -> bool:
    if named is None:
        return True
    names = [bytes(name.data) for name in named.issuer if asn1.tag(name) == DIRECTORY_NAME]
    return named.serial == certificate.serial_number and certificate.issuer.public_bytes() in names


def _require_signature(
    signer: asn1.Signer, certificate: x509.Certificate, digest: hashes.HashAlgorithm
) -> None:
    """Check the signature over the signed attributes (RFC 5652, 5.4) with the certificate's key."""
    oid = asn1.algorithm_oid(signer.signature_algorithm, "signature's algorithm").dotted_string
    key, signed = _key_of(certificate), _signed_bytes(signer)
    require_strong(key, "time stamp's signer")
    try:
        if isinstance(key, rsa.RSAPublicKey) and (oid == RSA or oid in RSA_WITH):
            key.verify(
                signer.signature, signed, padding.PKCS1v15(), _require_same_hash(RSA_WITH.get(oid), digest)
            )
        elif isinstance(key, rsa.RSAPublicKey) and oid == RSA_PSS:
            key.verify(signer.signature, signed, _pss(signer.signature_algorithm, digest), digest)
        elif isinstance(key, ec.EllipticCurvePublicKey) and (oid == EC or oid in ECDSA_WITH):
            key.verify(signer.signature, signed, ec.ECDSA(_require_same_hash(ECDSA_WITH.get(oid), digest)))
        else:
            raise WitnessFault(
                f"the time stamp is signed by the algorithm {oid}; RSA (PKCS #1 v1.5 and PSS) and ECDSA are read, "
                "each with the key of its kind"
            )
    except InvalidSignature:
        raise WitnessFault(
            "the time stamp's signature is not its authority's: it was altered or forged"
        ) from None


def _key_of(certificate: x509.Certificate) -> CertificatePublicKeyTypes:
    """Return the key of a certificate, which may be one that the reader's file brought."""
    try:
        return certificate.public_key()
    except UNREADABLE as error:
        raise WitnessFault("the key of the time stamp's signer cannot be read") from error


def _require_same_hash(
    named: hashes.HashAlgorithm | None, digest: hashes.HashAlgorithm
) -> hashes.HashAlgorithm:
    """The hash of a signature is the signer's digest, whether or not its algorithm names one as well."""
    if named is not None and named.name != digest.name:
        raise WitnessFault("the time stamp's signature and its message digest use different hashes")
    return digest


def _pss(algorithm: list[TLV], digest: hashes.HashAlgorithm) -> padding.PSS:
    """Return the padding of RSA-PSS by its parameters (RFC 4055, 3.1); defaults mean SHA-1 and are refused."""
    if len(algorithm) != 2:
        raise WitnessFault("the time stamp's signature is RSA-PSS without parameters")
    given = asn1.decode(asn1.PssParameters, algorithm[1], "parameters of RSA-PSS")
    if given.hash is None or given.mask is None or given.trailer not in {None, 1}:
        raise WitnessFault("the time stamp's signature is RSA-PSS with SHA-1, which is refused")
    _require_same_hash(hash_of(given.hash, "time stamp"), digest)
    mask = asn1.algorithm_oid(given.mask, "mask of RSA-PSS").dotted_string
    if mask != MGF1 or len(given.mask) != 2:
        raise WitnessFault(f"the time stamp's signature is RSA-PSS with the mask {mask}; MGF1 is read")
    inner = asn1.decode(asn1.KnownAlgorithm, given.mask[1], "mask of RSA-PSS")
    salt = 20 if given.salt_length is None else given.salt_length
    if not 0 <= salt <= 512:
        raise WitnessFault("the time stamp's signature is RSA-PSS with an impossible salt")
    return padding.PSS(padding.MGF1(_hash_of_oid(inner.algorithm.dotted_string, "time stamp")), salt)


def _hash(algorithm: hashes.HashAlgorithm, data: bytes) -> bytes:
    hasher = hashes.Hash(algorithm)
    hasher.update(data)
    return hasher.finalize()
