"""A peer's SDP as aiortc can take it: what its RFCs let a peer leave out is put in, and what concerns us is read."""

from __future__ import annotations

import re
from itertools import chain, count, pairwise
from typing import Final

_DIRECTION: Final = re.compile(r"a=(?:sendrecv|sendonly|recvonly|inactive)\s*")
_MID: Final = re.compile(r"a=mid:(\S*)\s*")
_SOURCE: Final = re.compile(r"a=ssrc:(\d{1,10}) ")


class RemoteDescription:
    """An offer or an answer with at least one media section; `str` is what aiortc is given.

    A direction that is left out is that of the session, or `sendrecv` (RFC 8866, section 6.7.1). A section without a
    mid is named by its place, as most stacks name theirs. Lines end as by splitlines().
    """

    def __init__(self, sdp: str) -> None:
        lines = sdp.splitlines()
        starts = [index for index, line in enumerate(lines) if line.startswith("m=")]
        self._session = lines[: starts[0]]
        self._sections = [lines[start:end] for start, end in pairwise([*starts, len(lines)])]
        self._mids = self._named()
        for section, mid in zip(self._sections, self._mids, strict=True):
            direction = next(filter(_DIRECTION.fullmatch, [*section, *self._session]), "a=sendrecv").rstrip()
            rest = [line for line in section if not _DIRECTION.fullmatch(line) and not _MID.fullmatch(line)]
            section[:] = [*rest, direction, f"a=mid:{mid}"]

    def _named(self) -> list[str]:
        """A name for each section: its own where it has one."""
        own = [next((found[1] for found in map(_MID.fullmatch, lines) if found), "") for lines in self._sections]
        more = (name for name in map(str, count(len(own))) if name not in own)
        return [mid or (next(more) if str(place) in own else str(place)) for place, mid in enumerate(own)]

    def __str__(self) -> str:
        return "".join(f"{line}\r\n" for line in self._lines())

    def _lines(self) -> list[str]:
        return [*self._session, *chain.from_iterable(self._sections)]

    @property
    def bundles(self) -> bool:
        """Whether it has a group of what is on one transport, which an answer has only if the offer does (RFC 9143)."""
        return any(line.startswith("a=group:BUNDLE") for line in self._session)

    @property
    def is_certified(self) -> bool:
        """Whether it names a certificate, without which there is no encryption."""
        return any(line.startswith("a=fingerprint:") for line in self._lines())

    def packet_ms(self) -> tuple[float, float]:
        """The shortest and longest packets that the peer takes (RFC 7587, section 6.1); 0 and inf if unsaid."""
        text = "\n".join(self._lines())
        least = re.findall(r"^a=fmtp:.*\bminptime=(\d+)", text, re.MULTILINE)
        most = re.findall(r"^a=maxptime:(\d+)", text, re.MULTILINE)
        return max(map(float, least), default=0.0), min(map(float, most), default=float("inf"))

    def sources_beside(self, mid: str | None) -> frozenset[int]:
        """The SSRCs that are announced in other sections than `mid`, and not in it."""
        own, beside = set[int](), set[int]()
        for section, name in zip(self._sections, self._mids, strict=True):
            announced = {int(found[1]) for line in section if (found := _SOURCE.match(line))}
            (own if name == mid else beside).update(announced)
        return frozenset(beside - own)
