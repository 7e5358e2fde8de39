"""Speech recognisers that transcribe a recording: a file each, over one SDK."""
