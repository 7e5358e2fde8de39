"""CHANGELOG.md and the fragments of changelog.d: short entries, under the headings that a release has."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
FRAGMENTS = ROOT / "changelog.d"
HEADINGS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "scores": "Scores"}
MOST_WORDS = 25

pytestmark = pytest.mark.skipif(not CHANGELOG.is_file(), reason="needs the checkout, not only the wheel")


def n_words(entry: str) -> int:
    """Words of an entry as read: a link is its text."""
    shown = re.sub(r"\]\([^)]*\)", "]", entry)
    return sum(bool(re.search(r"\w", word)) for word in shown.split())


def faults_of(name: str, text: str) -> list[str]:
    """What is wrong with a fragment."""
    found = []
    if not re.fullmatch(rf"[\w+-]+\.({'|'.join(HEADINGS)})\.md", name):
        found.append(f"{name}: expected WHAT.KIND.md with a KIND of {', '.join(HEADINGS)}")
    if not text.strip() or len(text.strip().splitlines()) > 1 or text.startswith(("-", "#")):
        found.append(f"{name}: expected one line without a bullet")
    if n_words(text) > MOST_WORDS:
        found.append(f"{name}: expected at most {MOST_WORDS} words, got {n_words(text)}")
    return found


def releases() -> dict[str, str]:
    """The text of each release, by its heading."""
    _, *parts = re.split(r"^## ", CHANGELOG.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {heading: text for heading, _, text in (part.partition("\n") for part in parts)}


def test_every_release_has_short_entries_under_known_headings() -> None:
    unreleased, *dated = releases().items()
    assert unreleased[0] == "Unreleased"
    assert "\n- " not in unreleased[1], "changes go to changelog.d"
    for heading, text in dated:
        assert re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", heading)
        before, *groups = re.split(r"^### ", text, flags=re.MULTILINE)
        assert before.strip() == ""
        assert {group.partition("\n")[0] for group in groups} <= {*HEADINGS.values()}
        entries = [line for group in groups for line in group.partition("\n")[2].splitlines() if line]
        assert [entry for entry in entries if not entry.startswith("- ") or n_words(entry) > MOST_WORDS] == []


def test_links_of_the_changelog_lead_somewhere() -> None:
    for path, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)]*)\)", CHANGELOG.read_text("utf-8"))):
        assert (ROOT / path).exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_fragments_are_one_short_line_of_a_known_kind() -> None:
    read = {path.name: path.read_text(encoding="utf-8") for path in FRAGMENTS.glob("*.md") if path.name != "README.md"}
    assert [fault for name, text in read.items() for fault in faults_of(name, text)] == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("export-csv.added.md", "`export --format csv` writes events.\n", ""),
        ("export.new.md", "It is new.\n", "KIND"),
        ("added.md", "It is new.\n", "KIND"),
        ("export.added.md", "- It is new.\n", "bullet"),
        ("export.added.md", "It is\nnew.\n", "one line"),
        ("export.added.md", "[It](docs/a.md)" + " is" * 25 + "\n", "got 26"),
        ("export.added.md", "[It](docs/a.md)" + " is" * 24 + " ([docs](b c d e)) - \n", "got 26"),
    ],
)
def test_a_fragment_that_is_none_is_named(name: str, text: str, fault: str) -> None:
    found = faults_of(name, text)
    assert (not found) if not fault else fault in found[0]


@pytest.mark.skipif(importlib.util.find_spec("towncrier") is None, reason="needs towncrier, of the extra dev")
def test_fragments_become_a_release_of_the_same_form(tmp_path: Path) -> None:
    for name in ("CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "changelog.d").mkdir()
    for path in FRAGMENTS.glob("*.jinja"):
        shutil.copy(path, tmp_path / "changelog.d")
    for name, text in {"one.added": "It is new.", "two.added": "So is this.", "b.scores": "All moves."}.items():
        (tmp_path / "changelog.d" / f"{name}.md").write_text(text + "\n")
    options = ["build", "--yes", "--version", "9.9.0", "--date", "2030-01-02", "--dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "towncrier", *options], cwd=tmp_path, capture_output=True, check=True)
    made = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    before, after = CHANGELOG.read_text(encoding="utf-8").split("<!-- releases -->\n\n")
    expected = "## 9.9.0 (2030-01-02)\n\n### Added\n\n- It is new.\n- So is this.\n\n### Scores\n\n- All moves.\n\n"
    assert made == f"{before}<!-- releases -->\n\n{expected}{after}"
    assert [path.name for path in (tmp_path / "changelog.d").glob("*.md")] == []
