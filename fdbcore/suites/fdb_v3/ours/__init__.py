"""Our measures beside the published ones."""
