"""Settings of all tests; property tests are bounded in the ordinary run, and long with FDBCORE_FUZZ=1 (`make fuzz`)."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("test", max_examples=100, deadline=None, derandomize=True, suppress_health_check=CHECKS)
settings.register_profile("fuzz", max_examples=20_000, deadline=None, suppress_health_check=CHECKS)
settings.load_profile("fuzz" if os.environ.get("FDBCORE_FUZZ") == "1" else "test")

# In the background of a shell Ctrl-C is ignored, also by what is started there; a handler of our own is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
