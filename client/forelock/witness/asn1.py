"""The ASN.1 of time stamps (RFC 3161, RFC 5652, RFC 5035), declared for the strict DER reader of `cryptography`.

An algorithm is a list of one or two elements here: its parameters may be anything, or absent. Where the standards
say SET OF and strangers write any order, the same bytes are read as SEQUENCE OF.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from cryptography.hazmat import asn1
from cryptography.hazmat.asn1 import TLV, Default, Explicit, GeneralizedTime, Implicit, Null, SetOf, Size
from cryptography.x509 import ObjectIdentifier

from forelock.witness.stamp import WitnessFault

T = TypeVar("T")

SIGNED_DATA = ObjectIdentifier("1.2.840.113549.1.7.2")
TST_INFO = ObjectIdentifier("1.2.840.113549.1.9.16.1.4")
CONTENT_TYPE = ObjectIdentifier("1.2.840.113549.1.9.3")
MESSAGE_DIGEST = ObjectIdentifier("1.2.840.113549.1.9.4")
SIGNING_CERTIFICATE = ObjectIdentifier("1.2.840.113549.1.9.16.2.12")
SIGNING_CERTIFICATE_V2 = ObjectIdentifier("1.2.840.113549.1.9.16.2.47")

Algorithm = Annotated[list[TLV], Size(min=1, max=2)]


@asn1.sequence
class KnownAlgorithm:
    """An algorithm as requests name it."""

    algorithm: ObjectIdentifier
    parameters: Null | None


@asn1.sequence
class RequestImprint:
    """The hash of what is to be stamped: MessageImprint (RFC 3161, 2.4.1) of a request."""

    hash_algorithm: KnownAlgorithm
    hashed_message: bytes


@asn1.sequence
class Request:
    """What is sent to a time stamp authority: TimeStampReq (RFC 3161, 2.4.1)."""

    version: int
    message_imprint: RequestImprint
    nonce: int
    cert_req: bool


@asn1.sequence
class Status:
    """Whether an authority granted a stamp, and why not: PKIStatusInfo (RFC 3161, 2.4.2)."""

    status: int
    text: list[str] | None
    failure: asn1.BitString | None


@asn1.sequence
class ContentInfo:
    """The outermost layer of a token."""

    content_type: ObjectIdentifier
    content: Annotated[TLV, Explicit(0)]


@asn1.sequence
class Response:
    """What a time stamp authority answers: TimeStampResp (RFC 3161, 2.4.2)."""

    status: Status
    token: ContentInfo | None


@asn1.sequence
class Encapsulated:
    """The content that is signed: TSTInfo, as octets."""

    content_type: ObjectIdentifier
    content: Annotated[bytes, Explicit(0)]


@asn1.sequence
class Signer:
    """SignerInfo. `signer` and `signed_attributes` are read by their tags."""

    version: int
    signer: TLV
    digest_algorithm: Algorithm
    signed_attributes: TLV
    signature_algorithm: Algorithm
    signature: bytes
    unsigned_attributes: Annotated[list[TLV] | None, Implicit(1)]


@asn1.sequence
class SignedData:
    """CMS SignedData with its certificates in the order in which they came."""

    version: int
    digest_algorithms: SetOf[TLV]
    content: Encapsulated
    certificates: Annotated[list[TLV] | None, Implicit(0)]
    crls: Annotated[list[TLV] | None, Implicit(1)]
    signers: SetOf[Signer]


@asn1.sequence
class IssuerAndSerial:
    """Who signed, by issuer and serial number."""

    issuer: TLV
    serial: int


@asn1.sequence
class Attribute:
    """One attribute that the signature covers: its kind and its values."""

    type: ObjectIdentifier
    values: SetOf[TLV]


@asn1.sequence
class Attributes:
    """Signed attributes as a field, so that their order is checked: SET OF in DER is sorted."""

    attributes: SetOf[Attribute]


@asn1.sequence
class IssuerSerial:
    """A certificate by its issuer's names and serial number: IssuerSerial (RFC 5035)."""

    issuer: list[TLV]
    serial: int


@asn1.sequence
class CertificateId:
    """ESSCertID: a certificate by the SHA-1 of its bytes."""

    hash: bytes
    issuer_serial: IssuerSerial | None


@asn1.sequence
class CertificateIdV2:
    """ESSCertIDv2: the same by a hash that is named, SHA-256 where it is not."""

    hash_algorithm: list[TLV] | None
    hash: bytes
    issuer_serial: IssuerSerial | None


@asn1.sequence
class SigningCertificate:
    """SigningCertificate and SigningCertificateV2: identifiers, the signer's first."""

    certificates: list[TLV]
    policies: list[TLV] | None


@asn1.sequence
class Imprint:
    """The hash of what was stamped: MessageImprint (RFC 3161, 2.4.2) of an answer."""

    hash_algorithm: Algorithm
    hashed_message: bytes


@asn1.sequence
class Accuracy:
    """How far genTime may be off, either way."""

    seconds: int | None
    millis: Annotated[int | None, Implicit(0)]
    micros: Annotated[int | None, Implicit(1)]


@asn1.sequence
class Name:
    """A GeneralName within its tag; what it says is not used."""

    name: TLV


@asn1.sequence
class Extension:
    """An extension of a time stamp; a critical one has to be understood, and none is."""

    type: ObjectIdentifier
    critical: Annotated[bool, Default(value=False)]
    value: bytes


@asn1.sequence
class TstInfo:
    """What a time stamp authority signs."""

    version: int
    policy: ObjectIdentifier
    imprint: Imprint
    serial: int
    gen_time: GeneralizedTime
    accuracy: Accuracy | None
    ordering: Annotated[bool, Default(value=False)]
    nonce: int | None
    tsa: Annotated[Name | None, Implicit(0)]
    extensions: Annotated[list[Extension] | None, Implicit(1)]


@asn1.sequence
class PssParameters:
    """RSASSA-PSS-params. What is left out means SHA-1, which is refused."""

    hash: Annotated[list[TLV] | None, Explicit(0)]
    mask: Annotated[list[TLV] | None, Explicit(1)]
    salt_length: Annotated[int | None, Explicit(2)]
    trailer: Annotated[int | None, Explicit(3)]


def decode(kind: type[T], data: bytes | TLV, what: str) -> T:
    """Read strict DER, all of it.

    Raises:
        WitnessFault: naming what was to be read.
    """
    try:
        return data.parse(kind) if isinstance(data, TLV) else asn1.decode_der(kind, data)
    except (ValueError, OverflowError) as error:
        raise WitnessFault(f"the {what} is not in DER as its standard has it") from error


def encode(value: object) -> bytes:
    """Return the DER bytes of a value of a declared type."""
    return asn1.encode_der(value)


def tag(element: TLV) -> int:
    """Return the tag of an element, in its one byte."""
    return int.from_bytes(element.tag_bytes, "big")


def algorithm_oid(algorithm: list[TLV], what: str) -> ObjectIdentifier:
    """Return the object identifier of the algorithm that is named."""
    if not 1 <= len(algorithm) <= 2:
        raise WitnessFault(f"the {what} is not in DER as its standard has it")
    return decode(ObjectIdentifier, algorithm[0], what)


def der(tag_byte: int, content: bytes) -> bytes:
    """Return the DER bytes of one element: tag, length in the fewest bytes, content."""
    size = len(content)
    if size < 0x80:
        return bytes([tag_byte, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag_byte, 0x80 | len(length)]) + length + content


def whole(element: TLV) -> bytes:
    """Return an element's bytes, its tag and length included."""
    return der(tag(element), bytes(element.data))
