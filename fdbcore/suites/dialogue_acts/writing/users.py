"""The users that talk to the systems in a run of this suite: a data set that `fdbcore dataset speak` has spoken."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from fdbcore import registry
from fdbcore.errors import InputError
from fdbcore.recording.files import write_text
from fdbcore.runs.plan import users_of
from fdbcore.runtime.address import query_of, split_query
from fdbcore.suites.dialogue_acts.models.prompts import Prompts
from fdbcore.suites.dialogue_acts.sets import (
    GENERATED,
    GENERATED_SCHEMA,
    PROMPTS,
    SHIPPED,
    RecordSet,
    check_locale,
    generated,
    prompts_in,
    records_in,
    rules_of,
)
from fdbcore.suites.dialogue_acts.writing.speak import RECORDS, SPEAK, speak_records, wav_path
from fdbcore.types import Clip, Material, SideA

SPEAKER: Final = "open-jtalk"

TAIL_S: Final = 30
"""How long a user waits for a reply to be given and said."""

PAUSE_MS: Final = 1500
"""More than any pause within a request, which would be sent by halves; a system that replies once is not timed."""


def prompts(told: Prompts | None = None) -> Mapping[str, str]:
    """The settings of parties that take prompts and whose addresses set none. told: the prompts of the set."""
    return {**(told or Prompts()).responding, "pause_ms": str(PAUSE_MS), "hears": "recording"}


def side_a(data: str) -> SideA:
    """The users of the data set "DIR" or "DIR?prompts=DIR&locale=LOCALE&SETTINGS", and lines that are no records.

    prompts, locale: as `rules_of` and `check_locale` take them. The other settings are those of the clip endpoint.
    Raises InputError if there are no records, or if some of them have not been spoken.
    """
    path, query = split_query(data, file=True)
    settings = query_of(query)
    own_prompts, locale = settings.pop("prompts", None), settings.pop("locale", None)
    folder = Path(path).absolute()
    records, problems = records_in(folder)
    clips = [Clip(record.id, wav_path(folder, record), record.topic, {"id": record.id}) for record in records]
    _refuse_unspoken(clips, folder)
    texts = {name: (folder / name).read_text("utf-8") for name in (RECORDS, SPEAK) if (folder / name).is_file()}
    if made := generated(folder)["settings"]:  # without what changes when records are added
        texts[GENERATED] = json.dumps({"schema": GENERATED_SCHEMA, "settings": made}, ensure_ascii=False)
    of = RecordSet(folder.name, {record.id: record for record in records}, made, prompts_in(folder))
    check_locale(of, locale)
    told = rules_of(of, Path(own_prompts) if own_prompts else None)
    texts |= {f"{PROMPTS}/{name}": text for name, text in told.own.items()}
    material = Material("dialogue-acts", str(folder), texts)
    return SideA(
        users_of(clips, urlencode(settings) or f"tail_s={TAIL_S}"), prompts(told), material, problems, untimed=True
    )


def shipped(folder: Path, show: Callable[[str], None]) -> None:
    """Put the shipped set into `folder`, spoken by Open JTalk, unless it is there already."""
    write_text(folder / RECORDS, (SHIPPED / RECORDS).read_text(encoding="utf-8"))
    records, _ = records_in(folder)
    for where, reason in speak_records(records, folder, registry.speaker(SPEAKER), show):
        raise InputError(f"{where}: {reason}")


def _refuse_unspoken(clips: list[Clip], folder: Path) -> None:
    missing = [clip.name for clip in clips if not clip.path.is_file()]
    if missing:
        several = f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
        raise InputError(
            f"{folder}: expected a recording of each record, found none of {len(missing)} of {len(clips)} ({several}): "
            f"fdbcore dataset speak {folder}"
        )
