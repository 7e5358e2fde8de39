"""Parties that take part by WebRTC: how they find us (signalling) and how their media is sent and received."""
