"""Where the CPU time of a call with two WebRTC legs goes: its threads as they run, and what libraries take of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import numpy as np
import pylibsrtp

from benchmarks.harness import best_seconds, print_table
from fdbcore._ext.jitter import JitterBuffer
from fdbcore.audio.opus import OpusDecoder, OpusEncoder
from fdbcore.endpoints.webrtc.aiortc_seam import _Srtp
from fdbcore.endpoints.webrtc.leg import OPUS_COMPLEXITY
from fdbcore.endpoints.webrtc.mirror import murmur
from fdbcore.endpoints.webrtc.rtp import RtpPacket, pack
from fdbcore.session.vad import SileroVad
from fdbcore.types import FRAME_SAMPLES, TICK_NS

LEGS = 2
REPEATS = 2_000
TICK_US = TICK_NS / 1_000
PROFILE = pylibsrtp.Policy.SRTP_PROFILE_AEAD_AES_128_GCM
KEY = b"a key of 16 byteand a salt 1"[:28]


def microseconds(work: Callable[[int], object]) -> float:
    """The CPU time of one call of `work`, given 0, 1, 2, ..."""
    numbers = count()
    return 1e6 * best_seconds(lambda: [work(next(numbers)) for _ in range(REPEATS)], 5, time.thread_time) / REPEATS


def session(kind: int) -> _Srtp:
    """One direction of an encrypted connection."""
    return _Srtp(pylibsrtp.Session(pylibsrtp.Policy(key=KEY, ssrc_type=kind, srtp_profile=PROFILE)))


def parts_us() -> dict[str, float]:
    """What libraries and the core take of a tick, of both legs, in us: measured over and over, with warm caches."""
    frames = murmur().reshape(-1, FRAME_SAMPLES)
    encoder, decoder, vad, buffer = OpusEncoder(complexity=OPUS_COMPLEXITY), OpusDecoder(), SileroVad(), JitterBuffer()
    packets = [encoder.encode(frame) for frame in frames]
    played = np.zeros(FRAME_SAMPLES, np.int16)
    buffer.start(0)
    seal = session(pylibsrtp.Policy.SSRC_ANY_OUTBOUND)

    def sealed(n: int) -> bytes:
        return seal.protect(pack(RtpPacket(96, n % (1 << 16), n * FRAME_SAMPLES, 7, packets[n % len(packets)])))

    def receive(n: int) -> None:
        buffer.add(packets[n % len(packets)], 7, n % (1 << 16), n * FRAME_SAMPLES, n * TICK_NS)
        buffer.play_into(played, n, decoder.decode)

    decoding = microseconds(lambda n: decoder.decode(packets[n % len(packets)]))
    found = {
        "Opus, encoding": microseconds(lambda n: encoder.encode(frames[n % len(frames)])),
        "Opus, decoding": decoding,
        "jitter buffer": microseconds(receive) - decoding,
        "encryption, both ways": 2 * microseconds(sealed),
        "speech or not": microseconds(lambda n: vad.push(frames[n % len(frames)])),
    }
    return {what: LEGS * us for what, us in found.items()}


def print_call_cost(threads: dict[str, float], calls: int) -> None:
    """threads: the share of a processor that threads of each kind use, of so many calls."""
    rows: list[tuple[object, ...]] = [
        (f"threads: {kind}", TICK_US * share / calls, 100 * share / calls) for kind, share in threads.items()
    ]
    total_us = sum(TICK_US * share / calls for share in threads.values())
    parts = parts_us()
    rows += [(f"of it: {what}", us, 100 * us / TICK_US) for what, us in parts.items()]
    rest_us = total_us - sum(parts.values())
    rows.append(("the rest: the loop, sockets, cold caches", rest_us, 100 * rest_us / TICK_US))
    print_table(
        f"Where the CPU of a call goes ({calls} in one process, two legs)", ("", "us a tick", "% of a core"), rows
    )
