"""Gates as JUnit's XML, which continuous integration shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from xml.etree import ElementTree

from fdbcore.report import comparison_words as words
from fdbcore.report.words import clock_text

ELEMENTS: Final = {"failed": "failure", "not measured": "error"}
_CANNOT_TELL: Final = {"pass": None, "fail": "failure", "error": "error"}

Values = Mapping[str, Any]


def junit(document: Values) -> str:
    """The gates of a comparison as one suite with a case each; those that cannot be told as the gates' file says."""
    gates = document["gates"]
    results = gates["results"]
    elements = [_element(gate, gates["cannot_tell"]) for gate in results]
    suite = ElementTree.Element(
        "testsuite",
        name="fdbcore gates",
        tests=str(len(results)),
        failures=str(elements.count("failure")),
        errors=str(elements.count("error")),
    )
    for gate, element in zip(results, elements, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=gates["file"], name=words.gate_name(gate))
        text = "\n".join(_lines(gate))
        if element is None:
            ElementTree.SubElement(case, "system-out").text = text
        else:
            message = f"{words.STATUSES[gate['status']]}: {words.gate_finding(gate)}"
            ElementTree.SubElement(case, element, message=message, type=gate["status"]).text = text
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _element(gate: Values, cannot_tell: str) -> str | None:
    return _CANNOT_TELL[cannot_tell] if gate["status"] == "cannot tell" else ELEMENTS.get(gate["status"])


def _lines(gate: Values) -> list[str]:
    lines = [words.gate_finding(gate), words.gate_basis(gate), *filter(None, [words.gate_advice(gate)])]
    moments = (
        f"{clock_text(moment['start_s'])} {moment['text']}, {moment['file']}: {moment['page']}"
        for moment in gate["worst"]
    )
    return [*lines, *moments]
