"""Measures speed, timing and accuracy of the core beside alternatives, both in the same run."""
