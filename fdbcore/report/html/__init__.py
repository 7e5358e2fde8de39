"""The shared part of all pages: the templates, and the values for their macros."""
