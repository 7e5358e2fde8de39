"""What the systems of a benchmark scored: the screen, the page and the tables of any suite, from the same rows."""
