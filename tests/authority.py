"""A time stamp authority of the tests' own: `openssl ts` answers, under certificates made here."""

from __future__ import annotations

import datetime
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CONFIGURATION = """
[ tsa ]
default_tsa = authority
[ authority ]
serial = {directory}/serial
crypto_device = builtin
signer_digest = {digest}
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1, millisecs:500, microsecs:100
ordering = yes
tsa_name = yes
ess_cert_id_alg = {identifier}
"""
DAY = datetime.timedelta(days=1)
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def certificate(
    name: str,
    key: Key,
    *,
    issuer: tuple[x509.Certificate, Key] | None = None,
    ca: bool = False,
    usage: tuple[x509.ObjectIdentifier, ...] = (),
    critical: bool = True,
    days: tuple[int, int] = (-1, 365),
    signs: bool = True,
    host: str | None = None,
) -> x509.Certificate:
    """A certificate of `key`, by `issuer` or by itself; `days` from now bound its validity."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    parent, parent_key = issuer or (None, key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(parent.subject if parent else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days[0] * DAY)
        .not_valid_after(now + days[1] * DAY)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(signs and not ca, False, False, False, False, ca, ca, False, False), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(parent_key.public_key()), critical=False
        )
    )
    if host:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=critical)
    return builder.sign(parent_key, hashes.SHA256())


@dataclass
class Authority:
    """A root and a key that stamps, in a directory for `openssl ts`."""

    directory: Path
    root: x509.Certificate
    signer: x509.Certificate
    digest: str = "sha256"
    identifier: str = "sha256"
    chain: tuple[x509.Certificate, ...] = ()

    @classmethod
    def create(
        cls,
        directory: Path,
        *,
        rsa_key: bool = False,
        rsa_bits: int = 2048,
        root_bits: int | None = None,
        usage: tuple[x509.ObjectIdentifier, ...] = (ExtendedKeyUsageOID.TIME_STAMPING,),
        critical: bool = True,
        days: tuple[int, int] = (-1, 365),
        intermediate: bool = False,
        signs: bool = True,
        digest: str = "sha256",
        identifier: str = "sha256",
    ) -> Authority:
        """Make its certificates and what `openssl ts` reads."""
        root_key: Key = (
            rsa.generate_private_key(65537, root_bits)
            if root_bits
            else ec.generate_private_key(ec.SECP256R1())
        )
        root = certificate("Root of tests", root_key, ca=True, days=(-3000, 3000))
        above: tuple[x509.Certificate, Key] = (root, root_key)
        chain: tuple[x509.Certificate, ...] = ()
        if intermediate:
            between_key = ec.generate_private_key(ec.SECP256R1())
            between = certificate("Between", between_key, issuer=above, ca=True, days=(-3000, 3000))
            above, chain = (between, between_key), (between,)
        key: Key = (
            rsa.generate_private_key(65537, rsa_bits) if rsa_key else ec.generate_private_key(ec.SECP256R1())
        )
        signer = certificate(
            "Stamps of tests", key, issuer=above, usage=usage, critical=critical, days=days, signs=signs
        )
        made = cls(directory, root, signer, digest, identifier, chain)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "serial").write_text("01\n")
        (directory / "signer.pem").write_bytes(signer.public_bytes(Encoding.PEM))
        (directory / "chain.pem").write_bytes(b"".join(each.public_bytes(Encoding.PEM) for each in chain))
        (directory / "root.pem").write_bytes(root.public_bytes(Encoding.PEM))
        (directory / "key.pem").write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        )
        (directory / "ts.cnf").write_text(
            CONFIGURATION.format(directory=directory, digest=digest, identifier=identifier)
        )
        return made

    def answer(self, request: bytes) -> bytes:
        """What `openssl ts -reply` makes of a request."""
        asked, replied = self.directory / "request.tsq", self.directory / "reply.tsr"
        asked.write_bytes(request)
        more = ["-chain", str(self.directory / "chain.pem")] if self.chain else []
        _openssl(
            "ts", "-reply", "-config", str(self.directory / "ts.cnf"), "-section", "authority",
            "-queryfile", str(asked), "-signer", str(self.directory / "signer.pem"),
            "-inkey", str(self.directory / "key.pem"), "-out", str(replied), *more,
        )  # fmt: skip
        return replied.read_bytes()

    def accepts(self, response: bytes, data: bytes) -> bool:
        """What `openssl ts -verify` says."""
        (self.directory / "given.tsr").write_bytes(response)
        (self.directory / "given.bin").write_bytes(data)
        said = subprocess.run(
            [
                "openssl", "ts", "-verify", "-in", str(self.directory / "given.tsr"),
                "-data", str(self.directory / "given.bin"), "-CAfile", str(self.directory / "root.pem"),
            ],
            capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        return said.returncode == 0


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)
