"""Settings of all tests; property tests are bounded in the ordinary run, and long with FDBCORE_FUZZ=1 (`make fuzz`)."""

from __future__ import annotations

import datetime
import ipaddress
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("test", max_examples=100, deadline=None, derandomize=True, suppress_health_check=CHECKS)
settings.register_profile("fuzz", max_examples=20_000, deadline=None, suppress_health_check=CHECKS)
settings.load_profile("fuzz" if os.environ.get("FDBCORE_FUZZ") == "1" else "test")

# In the background of a shell Ctrl-C is ignored, also by what is started there; a handler of our own is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate of 127.0.0.1, with its key, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return path
