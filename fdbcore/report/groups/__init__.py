"""The screens and the page of what holds of a run and its groups."""
