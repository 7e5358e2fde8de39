"""People's tags and verdicts: how far they agree among themselves and with judge and measures."""
