"""Writes data sets: records by a language model, and clips of their users."""
