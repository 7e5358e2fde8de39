"""Recorded users, and how systems take and yield the turn: v1 (four tasks) and v1.5 (four kinds of overlap).

Lin et al., "Full-Duplex-Bench" (arXiv 2503.04721, 2025) and "Full-Duplex-Bench v1.5" (arXiv 2507.23159, 2025).
"""
