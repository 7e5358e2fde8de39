"""Prints the quality of a WAV file by `rules`: python -S quality.py FILE."""

import sys
import wave
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from reference.rules import quality

with wave.open(sys.argv[-1]) as file:
    print(quality(file.getnframes()))
