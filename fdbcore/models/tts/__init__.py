"""Speakers of texts: a file for each kind of synthesiser."""
