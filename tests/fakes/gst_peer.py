"""A peer of GStreamer's webrtcbin, for Debian's own Python: joins by WHIP, plays a tone, and prints what became of it.

    /usr/bin/python3 gst_peer.py URL SECONDS HZ

The last line is JSON: {"states": [...], "loudest_db": ...}. Exits with 3, and says what is missing, if anything is.
"""

import json
import sys
import urllib.request
from typing import Any

MISSING = 3

try:
    import gi  # type: ignore[import-not-found,import-untyped,unused-ignore]

    for module in ("Gst", "GstSdp", "GstWebRTC"):
        gi.require_version(module, "1.0")
    from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # type: ignore[import-not-found,unused-ignore]
except (ImportError, ValueError) as error:
    print(error)
    raise SystemExit(MISSING) from None

SEND = (
    "webrtcbin name=peer bundle-policy=max-bundle audiotestsrc is-live=true freq={hz} "
    "! audio/x-raw,rate=48000,channels=1 ! opusenc ! rtpopuspay pt=97 "
    "! application/x-rtp,media=audio,encoding-name=OPUS,payload=97,clock-rate=48000 ! peer."
)
HEAR = "rtpopusdepay ! opusdec ! audioconvert ! level interval=100000000 ! fakesink"


class GstPeer:
    def __init__(self, url: str, seconds: float, hz: float) -> None:
        self.url = url
        self.states: list[str] = []
        self.loudest_db = -200.0
        self.loop = GLib.MainLoop()
        self.pipeline = Gst.parse_launch(SEND.format(hz=hz))
        self.peer = self.pipeline.get_by_name("peer")
        self.peer.connect("on-negotiation-needed", self.offer)
        self.peer.connect("pad-added", self.hear)
        self.peer.connect("notify::ice-gathering-state", self.gathered)
        self.peer.connect("notify::connection-state", self.changed)
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message::element", self.measured)
        GLib.timeout_add(int(seconds * 1000), self.loop.quit)

    def run(self) -> None:
        self.pipeline.set_state(Gst.State.PLAYING)
        self.loop.run()
        self.pipeline.set_state(Gst.State.NULL)
        print(json.dumps({"states": self.states, "loudest_db": self.loudest_db}))

    def offer(self, peer: Any) -> None:
        peer.emit("create-offer", None, Gst.Promise.new_with_change_func(self.offered))

    def offered(self, promise: Any) -> None:
        self.kept = promise.get_reply()  # it owns the description
        self.peer.emit("set-local-description", self.kept.get_value("offer"), Gst.Promise.new())

    def gathered(self, peer: Any, _: Any) -> None:
        if peer.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
            GLib.idle_add(self.post)

    def post(self) -> None:
        sdp = self.peer.get_property("local-description").sdp.as_text().encode()
        request = urllib.request.Request(self.url, data=sdp, headers={"Content-Type": "application/sdp"})
        with urllib.request.urlopen(request) as response:
            answer = response.read()
        _, description = GstSdp.SDPMessage.new()
        GstSdp.sdp_message_parse_buffer(answer, description)
        remote = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, description)
        self.peer.emit("set-remote-description", remote, Gst.Promise.new())

    def hear(self, _: Any, pad: Any) -> None:
        if pad.direction == Gst.PadDirection.SRC:
            ear = Gst.parse_bin_from_description(HEAR, True)
            self.pipeline.add(ear)
            ear.sync_state_with_parent()
            pad.link(ear.get_static_pad("sink"))

    def changed(self, peer: Any, _: Any) -> None:
        self.states.append(peer.get_property("connection-state").value_nick)

    def measured(self, _: Any, message: Any) -> None:
        if message.get_structure().get_name() == "level":
            self.loudest_db = max(self.loudest_db, message.get_structure().get_value("peak")[0])


if __name__ == "__main__":
    Gst.init(None)
    needed = ("webrtcbin", "nicesrc", "dtlsenc", "srtpenc", "opusenc", "rtpopuspay", "level")
    if missing := [name for name in needed if Gst.ElementFactory.find(name) is None]:
        print(f"no {', '.join(missing)}")
        raise SystemExit(MISSING)
    if len(sys.argv) > 1:
        GstPeer(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])).run()
