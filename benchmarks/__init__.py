"""Speed, timing and accuracy of the core, side by side in one run with what one would use instead."""
