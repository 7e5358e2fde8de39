"""What every benchmark shares: repeated timing, tables, and the line that says which machine this is."""

from __future__ import annotations

import os
import platform
import socket
import time
from collections.abc import Callable, Sequence


def best_seconds(work: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of `repeats` runs of `work`, in seconds: the run that was disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def machine() -> str:
    """One line about the machine that the figures come from."""
    model = "unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `header`: the first column left, the rest right aligned; floats with three figures."""
    cells = [[f"{cell:,.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(header), *cells]) for column in range(len(header))]
    print(f"\n{title}")
    for row in [list(header), ["-" * width for width in widths], *cells]:
        first, *rest = (
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())
