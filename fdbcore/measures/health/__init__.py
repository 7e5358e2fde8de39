"""Input health: checks of the audio of a session."""
