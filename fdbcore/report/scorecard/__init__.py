"""Scores of a benchmark's systems: the screen, the page and the tables of any suite, from the same rows."""
