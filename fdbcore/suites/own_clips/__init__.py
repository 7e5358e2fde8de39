"""A benchmark of one's own: recorded users that somebody labelled, and the measures that there are."""
