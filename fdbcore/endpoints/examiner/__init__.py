"""Parties that follow a script to examine the other side."""
