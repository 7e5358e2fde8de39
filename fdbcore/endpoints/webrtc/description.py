"""Reads a peer's SDP, and completes it for aiortc: adds what the RFCs allow a peer to leave out."""

import re
from itertools import chain, count, pairwise
from typing import Final

_DIRECTION: Final = re.compile(r"a=(?:sendrecv|sendonly|recvonly|inactive)\s*")
_MID: Final = re.compile(r"a=mid:(\S*)\s*")
_SOURCE: Final = re.compile(r"a=ssrc:(\d{1,10}) ")


class RemoteDescription:
    """An offer or an answer with at least one media section. `str` gives the SDP for aiortc.

    A missing direction is the session's, or `sendrecv` (RFC 8866, section 6.7.1). A section without a mid is named by
    its index, as most stacks do. Lines end where str.splitlines() ends them.
    """

    def __init__(self, sdp: str) -> None:
        lines = sdp.splitlines()
        starts = [index for index, line in enumerate(lines) if line.startswith("m=")]
        self._session = lines[: starts[0]]
        self._sections = [lines[start:end] for start, end in pairwise([*starts, len(lines)])]
        self._mids = self._unique_mids()
        for section, mid in zip(self._sections, self._mids, strict=True):
            direction = next(filter(_DIRECTION.fullmatch, [*section, *self._session]), "a=sendrecv").rstrip()
            rest = [line for line in section if not _DIRECTION.fullmatch(line) and not _MID.fullmatch(line)]
            section[:] = [*rest, direction, f"a=mid:{mid}"]

    def _unique_mids(self) -> list[str]:
        """The mid of each section; a section without one gets a unique number."""
        own = [next((found[1] for found in map(_MID.fullmatch, lines) if found), "") for lines in self._sections]
        more = (name for name in map(str, count(len(own))) if name not in own)
        return [mid or (next(more) if str(place) in own else str(place)) for place, mid in enumerate(own)]

    def __str__(self) -> str:
        return "".join(f"{line}\r\n" for line in self._lines())

    def _lines(self) -> list[str]:
        return [*self._session, *chain.from_iterable(self._sections)]

    @property
    def bundles(self) -> bool:
        """True if it has a BUNDLE group. An answer may only have one if the offer does (RFC 9143)."""
        return any(line.startswith("a=group:BUNDLE") for line in self._session)

    @property
    def is_certified(self) -> bool:
        """True if it has a certificate's fingerprint, which encryption needs."""
        return any(line.startswith("a=fingerprint:") for line in self._lines())

    def packet_ms(self) -> tuple[float, float]:
        """The shortest and longest packets in ms that the peer takes (RFC 7587, section 6.1); 0 and inf by default."""
        text = "\n".join(self._lines())
        least = re.findall(r"^a=fmtp:.*\bminptime=([0-9]{1,9})", text, re.MULTILINE)
        most = re.findall(r"^a=maxptime:([0-9]{1,9})", text, re.MULTILINE)
        return max(map(float, least), default=0.0), min(map(float, most), default=float("inf"))

    def sources_beside(self, mid: str | None) -> frozenset[int]:
        """The SSRCs that other sections than `mid` announce, and `mid` does not."""
        own, beside = set[int](), set[int]()
        for section, name in zip(self._sections, self._mids, strict=True):
            announced = {int(found[1]) for line in section if (found := _SOURCE.match(line))}
            (own if name == mid else beside).update(announced)
        return frozenset(beside - own)
