"""The 40 recordings that ship, how they are made, and the system that knows what is right."""
