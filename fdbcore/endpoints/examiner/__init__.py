"""Parties that examine the other side: what they say, and when."""
