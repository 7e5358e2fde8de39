"""Pass rates of items that were tried n times: at least once in k trials (pass@k), and in all of k (pass^k).

Of n trials, of which c pass: pass@k = 1 - C(n - c, k) / C(n, k) (Chen et al., arXiv 2107.03374), and pass^k =
C(c, k) / C(n, k) (Yao et al., tau-bench, arXiv 2406.12045).
"""

from math import comb


def pass_at(k: int, n: int, c: int) -> float:
    """The share of all draws of k of n trials, c of which pass, that hold one that passes."""
    return 1 - comb(n - c, k) / comb(n, k)


def pass_all(k: int, n: int, c: int) -> float:
    """The share of all draws of k of n trials, c of which pass, in which all pass."""
    return comb(c, k) / comb(n, k)
