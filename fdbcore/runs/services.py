"""Data that a run sends, and to whom, and when the models that it uses end."""

from collections.abc import Iterable, Iterator
from datetime import date

from fdbcore.errors import SettingsError
from fdbcore.models.model_table import listed, recipient
from fdbcore.runs.plan import RunPlan
from fdbcore.runtime.address import is_local
from fdbcore.types import Side
from fdbcore.types.usage import Service


def recipients(plan: RunPlan) -> list[str]:
    """A line for each server beyond this machine and private networks: what of the run goes there."""
    return list(dict.fromkeys(f"{_what(side, service)} {recipient(service)}" for side, service in _remote(plan)))


def check_local(plan: RunPlan) -> None:
    """SettingsError unless everything stays on this machine and in private networks."""
    found = recipients(plan)
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise SettingsError(
            f"--local-only: expected nothing to leave this machine or its network, but {found[0]}{more}"
        )


def endings(plan: RunPlan, today: date) -> list[str]:
    """A line for each model that has gone, or ends soon."""
    return ends_soon((service for _, service in _remote(plan)), today)


def ends_soon(services: Iterable[Service], today: date) -> list[str]:
    """A line for each model among the services that has gone, or ends soon: "gpt-4o ends in 52 days (2027-01-14)"."""
    found = {service.model: listed(service.vendor, service.model) for service in services if service.model}
    ends = {name: model.end for name, model in found.items() if model and model.end}
    return [f"{name} {end.text(today)}" for name, end in ends.items() if end.is_near(today)]


def _remote(plan: RunPlan) -> Iterator[tuple[Side, Service]]:
    """Each server beyond this machine and private networks, with the side whose party uses it."""
    for name, services in plan.services.items():
        for service in services:
            if not is_local(service.host):
                yield "B" if name else "A", service


def _what(side: Side, service: Service) -> str:
    if service.takes == "words":
        return "words of the call go to"
    return f"the audio of side {'A' if side == 'B' else 'B'} goes to"
