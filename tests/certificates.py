"""Certificates of a test's own authority."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Files = tuple[str, str, str]


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def certificates(directory: Path) -> Files:
    """Paths of a CA, of a certificate it signed and of that certificate's key."""
    directory.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())

    def sign(subject: str, public: ec.EllipticCurvePublicKey, ca: bool) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(_name(subject))
            .issuer_name(_name("authority"))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .sign(ca_key, hashes.SHA256())
        )

    written = {
        "ca.pem": sign("authority", ca_key.public_key(), ca=True).public_bytes(serialization.Encoding.PEM),
        "cert.pem": sign("pool", key.public_key(), ca=False).public_bytes(serialization.Encoding.PEM),
        "key.pem": key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    }
    for name, content in written.items():
        (directory / name).write_bytes(content)
    ca, cert, secret = (str(directory / name) for name in written)
    return ca, cert, secret
