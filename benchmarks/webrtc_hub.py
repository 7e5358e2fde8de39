"""A hub between WebRTC peers in a process of its own: `python -m benchmarks.webrtc_hub ours|aiortc ...`.

It prints its port once it listens, and one JSON object after `--seconds` of conversation. `ours` is the product: the
loop over two endpoints, recorded. `aiortc` is the plain relay of its documentation: it gives the track of one peer to
the other. With one leg, the peer hears itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import TICKS_PER_S

SETTLED_TICK = 100
SWITCH_INTERVAL_S = 0.0005
THREADS = {"fdbcore-network": "network", "fdbcore-spool": "recording", "fdbcore-call": "ticks"}
"""What the threads of the product do, by their names."""


@contextmanager
def busy_thread(wanted: bool) -> Iterator[None]:
    """A Python thread that never rests, as a careless plug-in would be."""
    stop = Event()

    def spin() -> None:
        count = 0
        while not stop.is_set():
            count += 1

    if wanted:
        threading.Thread(target=spin, daemon=True).start()
    yield
    stop.set()


def cpu_of_threads() -> dict[str, float]:
    """The CPU time in s that the threads of each kind have used so far."""
    used = dict.fromkeys([*THREADS.values(), "others"], 0.0)
    for thread in threading.enumerate():
        kind = next((kind for name, kind in THREADS.items() if thread.name.startswith(name)), "others")
        used[kind] += time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
    return used


def ours(options: argparse.Namespace) -> dict[str, Any]:
    """Hold `--calls` conversations at once in this process."""
    recordings = []

    def hold(call: int, folder: Path) -> None:
        query = f"ptime={options.ptime}&session={call}"
        address = f"webrtc://127.0.0.1:{options.port}?{query}"
        a = endpoint(address if options.legs == 2 else "echo")
        settings = LiveSettings(vad=options.vad, max_s=options.seconds, spin_ns=300_000 if options.calls == 1 else 0)
        recordings.append(converse(a, endpoint(address), folder / str(call), settings, {}, Event(), on_tick))

    started_cpu_s: list[float] = []
    threads_s: dict[int, dict[str, float]] = {}
    first, last = SETTLED_TICK, round(options.seconds * TICKS_PER_S) - 1

    def on_tick(tick: int) -> None:
        if tick == 0:
            started_cpu_s.append(time.process_time())
        if tick in (first, last) and tick not in threads_s:
            threads_s[tick] = cpu_of_threads()

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with tempfile.TemporaryDirectory() as folder, busy_thread(options.busy):
        calls = [
            threading.Thread(target=hold, args=(call, Path(folder)), name=f"fdbcore-call-{call}")
            for call in range(options.calls)
        ]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        used_s = time.process_time() - max(started_cpu_s)
        timings = [recording.meta["timing"] for recording in recordings]
    measured_s = (last - first) / TICKS_PER_S
    spent = {kind: (s - threads_s[first][kind]) / measured_s for kind, s in threads_s[last].items()}
    return {"cpu_share": used_s / options.seconds, "threads": spent, "timings": timings}


def plain_aiortc(options: argparse.Namespace) -> dict[str, Any]:
    """Relay tracks between the peers of each session."""
    return asyncio.run(_relay(options))


async def _relay(options: argparse.Namespace) -> dict[str, Any]:
    from aiohttp import web
    from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

    from fdbcore.endpoints.webrtc.aiortc_seam import candidates_only_at

    peers: dict[tuple[str, str], Any] = {}
    all_joined = asyncio.Event()

    async def join(request: web.Request) -> web.Response:
        session, side = request.query["session"], request.match_info["side"]
        connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        peers[session, side] = connection
        if len(peers) == options.calls * options.legs:
            all_joined.set()
        connection.addTransceiver("audio")
        await connection.setRemoteDescription(RTCSessionDescription(await request.text(), "offer"))
        with candidates_only_at(["127.0.0.1"]):
            await connection.setLocalDescription(await connection.createAnswer())
        other = peers.get((session, "a" if side == "b" else "b")) if options.legs == 2 else connection
        if other is not None:
            other.getSenders()[0].replaceTrack(connection.getReceivers()[0].track)
            connection.getSenders()[0].replaceTrack(other.getReceivers()[0].track)
        return web.Response(status=201, text=connection.localDescription.sdp, content_type="application/sdp")

    app = web.Application()
    app.router.add_post("/whip/{side}", join)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    await all_joined.wait()
    await asyncio.sleep(1)
    cpu_s = time.process_time()
    await asyncio.sleep(options.seconds)
    used_s = time.process_time() - cpu_s
    await asyncio.gather(*(connection.close() for connection in peers.values()))
    await runner.cleanup()
    return {"cpu_share": used_s / options.seconds, "timings": []}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("hub", choices=("ours", "aiortc"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--calls", type=int, default=1)
    parser.add_argument("--legs", type=int, default=2)
    parser.add_argument("--ptime", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--vad", default="silero")
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    print(json.dumps(ours(options) if options.hub == "ours" else plain_aiortc(options)))


if __name__ == "__main__":
    main()
