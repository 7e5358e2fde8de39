"""The screen and the page of a comparison of runs or groups, and gates as JUnit XML."""
