"""The screen, the tables and the page of a run."""
