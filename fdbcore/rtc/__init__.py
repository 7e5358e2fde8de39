"""WebRTC: a peer on the media clock, and the signalling by which others reach it."""
