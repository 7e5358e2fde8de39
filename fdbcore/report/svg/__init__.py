"""SVG drawings that need no script, and what they share."""
