"""The screens and the page of the scores of a run and its groups."""
