"""One file per kind of party that can sit on a side of the loop."""
