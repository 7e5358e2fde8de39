"""Speech transcribers that transcribe a recording: one file for each SDK."""
