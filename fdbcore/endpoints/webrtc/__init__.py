"""WebRTC: a peer on the media clock, and the signalling by which others reach it."""

from typing import Final

HUNG_UP: Final = "hung up"
"""Why a peer is gone that said so, by whatever means its protocol has: it has ended the conversation as planned."""
