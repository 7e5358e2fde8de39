"""What all pages share: their templates, and what the macros of these take."""
