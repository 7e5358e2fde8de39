"""docs/decisions.md: what is said to hold a decision is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "decisions.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
DECISIONS = re.findall(r"^\d+\. \*\*(.*?)\*\*(.*?)(?=^\d+\. |^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.skipif(not TEXT, reason="needs the checkout, not only the wheel")


def test_there_are_thirty_and_they_are_numbered() -> None:
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", TEXT, re.MULTILINE)]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert len(DECISIONS) == len(numbers) >= 30


@pytest.mark.parametrize(("decision", "text"), DECISIONS, ids=[decision for decision, _ in DECISIONS])
def test_a_test_or_a_page_holds_each(decision: str, text: str) -> None:
    tests = re.findall(r"`(tests/\S+?)::(\w+)`", text)
    pages = re.findall(r"\]\(([\w./]+\.md)", text)
    assert tests or pages or "SECURITY.md" in text, decision
    for path, name in tests:
        assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name
    for page in pages:
        assert (PAGE.parent / page).is_file(), page
