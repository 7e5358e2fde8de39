"""Requests to language models, to write and to annotate, and checks that their answers can be used."""
