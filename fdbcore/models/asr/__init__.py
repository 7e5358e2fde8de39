"""Speech recognisers that transcribe a recording: one file for each SDK."""
