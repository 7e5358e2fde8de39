"""Speech synthesisers: a file each."""
