"""The screen and the page of one call."""
