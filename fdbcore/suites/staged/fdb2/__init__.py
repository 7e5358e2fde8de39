"""Judged dialogues of Full-Duplex-Bench-v2: replies of its judge, their scores, and the tables that it published."""
