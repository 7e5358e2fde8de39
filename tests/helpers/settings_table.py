"""Settings as they are listed in docs."""

from collections.abc import Sequence

from fdbcore.runtime.address import Setting


def listed(settings: Sequence[Setting], parties: str = "") -> str:
    """A Markdown list: names with their default, expected values, meaning. parties: whose, in a line before it.

    Settings that differ only in their names share an item. Without a default nothing is sent: the vendor's holds.
    """
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in settings:
        shown = shown_default(each)
        default = "" if shown in ("none", "the vendor's", "the server's") else f" ({shown})"
        alike.setdefault((default, each.expected, each.meaning), []).append(f"`{each.name}`")
    items = [f"- {', '.join(names)}{default}: {'; '.join(rest)}\n" for (default, *rest), names in alike.items()]
    return "".join([*([f"**{parties}**\n\n"] if parties else []), *items])


def shown_default(setting: Setting) -> str:
    """The default in words."""
    if setting.default is None or setting.default == "":
        return setting.unset
    if setting.kind is bool:
        return f"`{str(setting.default).lower()}`"
    return f"{setting.default:g} {setting.unit}".rstrip() if setting.kind is not str else f"`{setting.default}`"
