"""Scores of replies against their references, and what they show: comparisons, baselines, differences."""
