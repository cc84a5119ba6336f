"""An authority of our own, and certificates that are wrong in one way each."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY: Final = timedelta(days=1)
AUTHORITY: Final = "authority.pem"


def contexts_of(folder: Path, doors: Mapping[str, Any]) -> dict[str, ssl.SSLContext]:
    """Return the contexts of the doors that speak TLS; write the authority's file."""
    made = {}
    wrong = {
        "tls-self-signed": {"signs_itself": True},
        "tls-expired": {"ended": True},
        "tls-wrong-name": {"name": "elsewhere.example"},
        "tls": {},
    }
    wanted = {door: how for door, how in wrong.items() if door in doors}
    if not wanted:
        return {}
    key, authority = _authority()
    (folder / AUTHORITY).write_bytes(_pem(authority))
    for door, how in wanted.items():
        path = folder / f"{door}.pem"
        path.write_bytes(_certificate(key, **how))  # type: ignore[arg-type]
        made[door] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made[door].load_cert_chain(path)
    return made


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    pem: bytes = certificate.public_bytes(Encoding.PEM)
    return pem


def _authority() -> tuple[Any, Any]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    builder = _builder("authority", "authority", key.public_key(), ended=False)
    built = builder.add_extension(constraints, critical=True)
    return key, built.sign(key, hashes.SHA256())


def _builder(subject: str, issuer: str, key: Any, *, ended: bool) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    names = [
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
        for text in (subject, issuer)
    ]
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(names[0])
        .issuer_name(names[1])
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 9 * _DAY)
        .not_valid_after(now - _DAY if ended else now + _DAY)
    )


def _certificate(
    authority_key: Any,
    *,
    signs_itself: bool = False,
    ended: bool = False,
    name: str = "",
) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    issuer = "host" if signs_itself else "authority"
    builder = _builder("host", issuer, key.public_key(), ended=ended)
    hosts = [x509.DNSName(name)] if name else [_address(n) for n in range(256)]
    builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    signed = builder.sign(key if signs_itself else authority_key, hashes.SHA256())
    own = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return own + _pem(signed)


def _address(number: int) -> Any:
    from cryptography import x509

    return x509.IPAddress(ipaddress.ip_address(f"127.110.0.{number}"))
