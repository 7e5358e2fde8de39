"""Agreement on the disfluencies of recordings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random

import msgspec
import pytest
from helpers.commands import done, printed
from jsonschema import Draft202012Validator
from oracles.agreement import alpha

from fdbcore.errors import SettingsError
from fdbcore.suites.fdb_v3.agreement import CLASSES, holds_tags, tag_agreement
from fdbcore.suites.fdb_v3.scenarios import SMOKE
from fdbcore.suites.schemas import schema

LABELS: dict[str, set[str]] = {
    record["id"]: set(record["disfluencies"]) for record in json.loads(SMOKE.read_text())["record"]
}


def table(path: Path, rows: Mapping[str, set[str]]) -> Path:
    """A table by one rater, who is named as the file."""
    lines = [f"{name},{' '.join(sorted(tags)).lower()}" for name, tags in rows.items()]
    path.write_text("\n".join(["recording,disfluencies", *lines, ""]))
    return path


def test_alpha_of_each_class_is_that_of_the_paper(tmp_path: Path) -> None:
    random = Random(1)
    raters = [
        {name: tags ^ {kind for kind in CLASSES if random.random() < 0.15} for name, tags in LABELS.items()}
        for _ in range(3)
    ]
    del raters[2]["shop_10"], raters[2]["shop_09"], raters[1]["shop_09"]
    files = [table(tmp_path / f"rater{number}.csv", rows) for number, rows in enumerate(raters)]
    assert all(map(holds_tags, [*files, SMOKE]))
    content = tag_agreement(files)
    Draft202012Validator(schema("fdb_v3/disfluency_agreement")).validate(json.loads(msgspec.json.encode(content)))
    assert [each.kind for each in content.classes] == list(CLASSES)
    for each in content.classes:
        units = [[each.kind in rows[name] for rows in raters if name in rows] for name in LABELS]
        assert each.alpha == pytest.approx(alpha(units))
        assert (each.n, each.ci95 is None) == (39, False)
    assert content.classes[0].tagged[0] == sum("FILLER" in raters[0][name] for name in LABELS if name != "shop_09")


def test_labels_of_a_set_are_compared_with_a_person(tmp_path: Path) -> None:
    heard = {
        name: tags - {"HESITATION"} | ({"FILLER"} if "HESITATION" in tags else set()) for name, tags in LABELS.items()
    }
    files = [str(SMOKE), str(table(tmp_path / "ann.csv", heard))]
    content = printed("agree", *files, code=None)
    assert [each["name"] for each in content["raters"]] == ["smoke", "ann"]
    found = {each["kind"]: each["alpha"] for each in content["classes"]}
    assert found["PAUSE"] == found["FALSE_START"] == found["SELF_CORRECTION"] == 1
    assert found["HESITATION"] < 0
    shown = done("agree", *files)
    assert "2 ann: 40 recordings" in shown.stdout
    assert re.search(r"hesitation +40 +8 +0 +0\.800 +-0\.09", shown.stdout)


def test_what_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    one = tmp_path / "one.csv"
    one.write_text(
        "recording,rater,disfluencies\na,Ann,FILLER\na,Bob,stutter\n,Bob,PAUSE\nb,Bob,self-correction\nb,Ann,\n"
    )
    content = tag_agreement([one])
    assert [each.reason for each in content.problems] == [
        f"disfluencies: left out: expected of {', '.join(CLASSES)}, got STUTTER",
        "recording: left out: expected a name, got none",
    ]
    assert content.classes[4].tagged == [0, 1]
    with pytest.raises(SettingsError, match="expected tags by two raters or more, got those of alone"):
        tag_agreement([table(tmp_path / "alone.csv", {"a": set()})])
    twice = tmp_path / "twice.csv"
    twice.write_text("recording,rater,disfluencies\na,Ann,FILLER\na,Ann,PAUSE\n")
    with pytest.raises(
        SettingsError, match=r"twice.csv, line 3: expected one row for a by Ann, got .* differs in FILLER"
    ):
        tag_agreement([twice])
    with pytest.raises(SettingsError, match="expected recordings that two raters tagged, got none"):
        tag_agreement([table(tmp_path / "x.csv", {"a": set()}), table(tmp_path / "y.csv", {"b": set()})])
    assert not holds_tags(tmp_path / "none.csv")
