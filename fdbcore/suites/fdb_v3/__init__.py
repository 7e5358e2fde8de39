"""Recorded users whose speech is disfluent, and tools: the world, the released data, and the published measures.

Lin, Chen, Chen and Lee, "Full-Duplex-Bench-v3" (arXiv 2604.04847, 2026). Results of tools, repairs of labels and all
texts are written for this project.
"""
