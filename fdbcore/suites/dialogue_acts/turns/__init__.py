"""Acts of real conversations: the turns of calls, and replies that were given live."""
