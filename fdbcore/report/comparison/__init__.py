"""The screen and the page of two runs, or groups of calls, compared; and gates for continuous integration."""
