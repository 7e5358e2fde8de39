"""What people look at: the screen, the HTML page and the JSON document of recordings, and other tools' formats."""
