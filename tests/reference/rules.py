"""What the stand-ins for judges and for UTMOS say, on both sides of the check: rules that any of them can compute."""

BEHAVIOURS = ("respond", "resume", "respond", "uncertain", "respond", "respond", "respond", "unknown", "respond")


def rating(words: int) -> int:
    """Of a reply of so many words."""
    return words % 6


def behaviour(words: int) -> str:
    """What a system does that says so many words."""
    return BEHAVIOURS[words % len(BEHAVIOURS)]


def quality(samples: int) -> float:
    """Of so many samples at 16 kHz: their length in s, so that it shows which sound is heard."""
    return round(samples / 16_000, 4)
