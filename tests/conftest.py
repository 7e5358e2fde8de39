"""Settings of the property tests: bounded in the ordinary run, long with FDBCORE_FUZZ=1 (`make fuzz`)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("test", max_examples=100, deadline=None, derandomize=True, suppress_health_check=CHECKS)
settings.register_profile("fuzz", max_examples=20_000, deadline=None, suppress_health_check=CHECKS)
settings.load_profile("fuzz" if os.environ.get("FDBCORE_FUZZ") == "1" else "test")
