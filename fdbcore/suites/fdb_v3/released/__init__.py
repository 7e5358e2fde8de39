"""The released folder of Full-Duplex-Bench v3: its recordings, labels, repairs and results."""
