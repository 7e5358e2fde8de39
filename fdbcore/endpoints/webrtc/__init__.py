"""WebRTC: a peer on the media clock, and the signalling by which others reach it."""

from typing import Final

HUNG_UP: Final = "hung up"
"""The reason of a peer that hung up in the way of its protocol: it ended the conversation as planned."""
