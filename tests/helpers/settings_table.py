"""Settings as they are listed in docs."""

from __future__ import annotations

from collections.abc import Sequence

from fdbcore.runtime.address import Setting


def listed(settings: Sequence[Setting], parties: str = "") -> str:
    """A Markdown list: names with their default, expected values, meaning. parties: whose, in a line before it.

    Settings that differ only in their names share an item. Without a default nothing is sent: the vendor's holds.
    """
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in settings:
        default = "" if each.shown_default in ("none", "the vendor's", "the server's") else f" ({each.shown_default})"
        alike.setdefault((default, each.expected, each.meaning), []).append(f"`{each.name}`")
    items = [f"- {', '.join(names)}{default}: {'; '.join(rest)}\n" for (default, *rest), names in alike.items()]
    return "".join([*([f"**{parties}**\n\n"] if parties else []), *items])
