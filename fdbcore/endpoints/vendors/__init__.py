"""The parties that vendors run: speech models, and the places where agents already run, each over its own protocol.

`party` is what they share: a session over a WebSocket, `uplink` what it hears, `items` what it says.

May import: _ext, audio, models, recording, runtime, sources.
"""
