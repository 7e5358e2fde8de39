"""Staged dialogues: a person who wants several things of a system, one after the other, in four families of cases.

Lin et al., "Full-Duplex-Bench-v2" (arXiv 2510.07838, 2025). The scenarios, rubrics and checks are written for this
project; `fdbcore scenarios import` reads the released ones.
"""
