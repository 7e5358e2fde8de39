"""Figures and tables of runs for a paper."""
