"""The published benchmarks: a package each."""
