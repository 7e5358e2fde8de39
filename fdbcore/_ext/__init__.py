"""The compiled core: one Cython module per kernel, and the Numba kernels for offline work in `batch`.

May import: nothing.
"""
