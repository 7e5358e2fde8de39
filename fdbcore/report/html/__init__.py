"""What all pages share: the templates, and the values for their macros."""
