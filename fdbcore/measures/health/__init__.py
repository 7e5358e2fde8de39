"""Input health: what is wrong with the audio of a session."""
