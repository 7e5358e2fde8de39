"""Language models that answer one request at a time: a file each, over one vendor's SDK."""
