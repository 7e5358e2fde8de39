"""Dialogues of real voices with truth by construction, over many lines, and how detectors do on them."""
