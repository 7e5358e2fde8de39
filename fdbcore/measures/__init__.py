"""Measures: pure functions of recordings. Each gives quantities that `score` pools over sessions."""
