"""The form of the released file of Full-Duplex-Bench-v2, with texts of our own, and its import."""

import json
from pathlib import Path
from typing import Any

from click.testing import Result
from helpers.commands import command


def task(split: str, class_id: str, number: int, title: str) -> dict[str, Any]:
    return {
        "id": f"{split}.{class_id}.{number:03}",
        "split": split,
        "class_id": class_id,
        "class_name": class_id.title(),
        "scenario_title": title,
        "examiner_system_prompt": "Talk.",
        "examiner_task_prompt": f"Your task: **Roleplay a “buyer” of {class_id}..**\n\n**Goals:** as below.",
        "staged_reveal": {f"T{n}": f'Ask for thing {n}, "the\tquoted" one.' for n in range(1, 5)},
        "skills_tested": ["memory"],
        "allow_barge_in": True,
    }


def imported(content: object, folder: Path) -> tuple[Result, Path]:
    (folder / "tasks.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    out = folder / "out.toml"
    return command("scenarios", "import", folder / "tasks.json", "--out", out), out
