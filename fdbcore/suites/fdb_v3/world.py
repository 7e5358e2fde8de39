"""The world of Full-Duplex-Bench v3: its functions as tools, what calls do to them, seeded latencies, planted faults.

fdb-v3:?latency=slow&faults=error@2        the 12 released functions
fdb-v3:paper                               the 11 of the paper's Table 1

Calls have results, and leave the services in a state. References such as "$RESULT_0.flights[0].flight_id" are resolved
here. The published measures never resolve them.
"""

from __future__ import annotations  # what a function takes is read as texts

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct

from fdbcore.errors import SettingsError
from fdbcore.runtime import parsed, resolved
from fdbcore.worlds import LATENCY, PROFILES, SETTINGS, FunctionWorld

Changed: TypeAlias = dict[str, dict[str, Any]]
"""Tables by name, each with its values by key."""
UNIT_PRICE: Final = 99.99
ANY: Final = "$ANY"
"""An argument whose value no label says: every value is right."""
REFERENCE: Final = re.compile(r"\$RESULT_(\d{1,9})", re.ASCII)
"""To the result of a call, by its number from 0."""
_FRACTION: Final = re.compile(r"-?(0|[1-9]\d*)\.\d+", re.ASCII)


class ToolServices:
    """Functions that answer at once, always alike. changed: the tables that they have written.

    Each public method that a class of these adds is a tool: its docstring is what a system is told of it.
    """

    def __init__(self) -> None:
        self.changed: Changed = {}

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The tools by name."""
        return {name: getattr(self, name) for name in vars(type(self)) if not name.startswith("_")}

    def _write(self, table: str, key: str, value: Any) -> None:  # noqa: ANN401
        self.changed.setdefault(table, {})[key] = value

    def _count(self, table: str, key: str, more: int = 1) -> None:
        self._write(table, key, self.changed.get(table, {}).get(key, 0) + more)


class ReleasedServices(ToolServices):
    """The 12 functions of the released code, in four domains: names and arguments are its own, results are ours."""

    def search_flights(self, destination: str, date: str) -> dict[str, Any]:
        """Find flights to a city on a date."""
        flight = {"flight_id": "FL123", "destination": destination, "date": date, "price": 450.0}
        return {"status": "success", "flights": [flight]}

    def book_flight(self, passenger_name: str) -> dict[str, Any]:
        """Book a seat on the flight that was found, for one passenger."""
        self._count("bookings", passenger_name)
        return {"status": "success", "booking_reference": "B789", "passenger_name": passenger_name}

    def update_identity_doc(self, doc_type: str, doc_number: str) -> dict[str, Any]:
        """Store the number of a traveller's identity document, such as a passport."""
        self._write("documents", doc_type, doc_number)
        return {"status": "success", "updated": doc_type, "last_4": doc_number[-4:]}

    def get_card_benefits(self, card_type: str) -> dict[str, Any]:
        """List what a payment card offers to its holder."""
        return {"status": "success", "card_type": card_type, "benefits": ["2 % cashback", "no foreign fee"]}

    def get_exchange_rate(self, amount: float, from_currency: str, to_currency: str) -> dict[str, Any]:
        """Convert an amount of money from one currency to another."""
        rate = 1.1 if from_currency == "EUR" else 0.9
        return {"rate": rate, "converted_amount": round(amount * rate, 2), "to_currency": to_currency}

    def modify_autopay(self, bill_type: str, source_account: str) -> dict[str, Any]:
        """Pay a kind of bill automatically from an account."""
        self._write("autopay", bill_type, source_account)
        return {"status": "success", "autopay_enabled": True, "bill_type": bill_type, "source_account": source_account}

    def search_apartments(self, city: str, bedrooms: int, max_price: float) -> dict[str, Any]:
        """Find apartments for rent in a city, by bedrooms and highest monthly rent."""
        apartment = {"apartment_id": "APT1", "price": max_price - 100, "bedrooms": bedrooms}
        return {"status": "success", "city": city, "apartments": [apartment]}

    def calculate_commute(self, origin_address: str, destination_address: str, mode: str = "driving") -> dict[str, Any]:
        """Say how long it takes from one address to another."""
        return {"duration_minutes": 25, "mode": mode}

    def update_search_filter(self, filter_name: str, value: str) -> dict[str, Any]:
        """Set a filter of the search for apartments to a value."""
        self._write("filters", filter_name, value)
        return {"status": "success", "filter_name": filter_name, "new_value": value}

    def track_order(self, order_id: str) -> dict[str, Any]:
        """Say where an order is."""
        return {"order_id": order_id, "status": "out for delivery"}

    def search_products(self, query: str, max_price: float | None = None) -> dict[str, Any]:
        """Find products in the shop, up to a price if there is one."""
        price = UNIT_PRICE if max_price is None else max_price - 10
        return {"products": [{"product_id": "PROD1", "name": f"{query}, classic", "price": price}]}

    def add_to_cart(self, product_id: str, quantity: int = 1) -> dict[str, Any]:
        """Put a product into the cart."""
        self._count("cart", product_id, quantity)
        return {"product_id": product_id, "quantity": quantity, "total": round(UNIT_PRICE * quantity, 2)}


class PaperServices(ToolServices):
    """The 11 functions of the paper's Table 1, with its names and arguments, in the same four domains.

    What they return is not published: they echo what they were given.
    """

    search_flights = ReleasedServices.search_flights

    def book_ticket(self, passenger_name: str, flight_id: str) -> dict[str, Any]:
        """Book a flight for one passenger."""
        self._count("bookings", f"{passenger_name} on {flight_id}")
        return {"status": "success", "passenger_name": passenger_name, "flight_id": flight_id}

    def update_travel_profile(self, document_type: str, document_number: str) -> dict[str, Any]:
        """Store the number of a traveller's identity document, such as a passport."""
        self._write("documents", document_type, document_number)
        return {"status": "success", "document_type": document_type}

    def query_card_benefits(self, card_last_4: str, category: str) -> dict[str, Any]:
        """List what a payment card, named by its last four digits, offers in a category."""
        return {"status": "success", "card_last_4": card_last_4, "category": category, "benefits": ["2 % cashback"]}

    def calculate_currency_exchange(self, amount: float, from_currency: str, to_currency: str) -> dict[str, Any]:
        """Convert an amount of money from one currency to another."""
        rate = 1.1 if from_currency == "EUR" else 0.9
        return {"rate": rate, "converted_amount": round(amount * rate, 2), "to_currency": to_currency}

    def modify_autopay_source(self, new_account_id: str) -> dict[str, Any]:
        """Pay bills automatically from another account."""
        self._write("autopay", "source", new_account_id)
        return {"status": "success", "new_account_id": new_account_id}

    def search_apartments(self, max_budget: float, amenities: list[str]) -> dict[str, Any]:
        """Find apartments for rent, by highest monthly rent and by what they must have."""
        apartment = {"apartment_id": "APT1", "price": max_budget - 100, "amenities": amenities}
        return {"status": "success", "apartments": [apartment]}

    def update_search_filter(self, condition: str, new_value: str) -> dict[str, Any]:
        """Set a condition of the search for apartments to a value."""
        self._write("filters", condition, new_value)
        return {"status": "success", "condition": condition, "new_value": new_value}

    def check_order_status(self, order_id: str) -> dict[str, Any]:
        """Say where an order is."""
        return {"order_id": order_id, "status": "out for delivery"}

    def cancel_pending_action(self, action_type: str) -> dict[str, Any]:
        """Cancel an action that has not been carried out yet."""
        self._count("cancelled", action_type)
        return {"status": "success", "action_type": action_type}

    def process_exchange(self, order_id: str, new_shipping_address: str) -> dict[str, Any]:
        """Exchange an order, and send the new one to another address."""
        self._write("exchanges", order_id, new_shipping_address)
        return {"status": "success", "order_id": order_id, "new_shipping_address": new_shipping_address}


FUNCTIONS: Final = ReleasedServices().functions()
"""Functions that a label can expect, by name."""


class FunctionCall(Struct, frozen=True):
    """A function by name, and its arguments."""

    function: str
    args: dict[str, Any]


class CallsOutcome(NamedTuple):
    """The calls with their references resolved, their results in order, and the state of the services after them.

    The result of a call that the services refuse is None.
    """

    calls: list[FunctionCall]
    results: list[Any]
    state: Changed


def outcome(calls: Iterable[FunctionCall], resolves: bool = True) -> CallsOutcome:
    """Make the calls one after the other in a new world of the released functions.

    resolves: whether references are resolved; those of a system, which has to send values, are not.
    """
    services = ReleasedServices()
    functions = services.functions()
    made: list[FunctionCall] = []
    results: list[Any] = []
    for each in calls:
        call = FunctionCall(each.function, resolved(dict(each.args), results) if resolves else dict(each.args))
        made.append(call)
        try:
            results.append(functions[call.function](**_possible(call.args, functions[call.function].__annotations__)))
        except (LookupError, TypeError, ArithmeticError):
            results.append(None)
    return CallsOutcome(made, results, services.changed)


def _possible(args: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """The arguments with 0 for each number that may have any value."""
    numbers = {name for name, kind in types.items() if kind.startswith(("int", "float"))}
    return {name: 0 if value == ANY and name in numbers else value for name, value in args.items()}


def state_differences(expected: Changed, found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Differences between the expected state and that of a conversation: a line each; empty if there are none.

    Keys and values are compared by `plain_value`. ANY is the same as each key and each value.
    """
    lines = []
    for table in [*expected, *(name for name in found if name not in expected)]:
        wanted, left = _read(expected.get(table, {})), _read(found.get(table, {}))
        for key in sorted(wanted, key=lambda key: key == plain_value(ANY)):
            got = key if key in left else next(iter(left), None) if key == plain_value(ANY) else None
            value = None if got is None else left.pop(got)
            if value is None or wanted[key] not in (value, plain_value(ANY)):
                lines.append(f"{table}: expected {key} = {wanted[key]}, got {'none' if value is None else value}")
        lines += [f"{table}: expected no {key}, got {value}" for key, value in left.items()]
    return lines


def _read(table: Mapping[str, Any]) -> dict[str, str]:
    return {plain_value(key): plain_value(value) for key, value in table.items()}


def plain_value(value: object) -> str:
    """A value as it is compared: without case, outer spaces, and underscores for spaces; a number in its plain form.

    A text is a number if people would write it so: "1800.00" is 1800. One with a zero ahead ("0042"), or with an
    exponent ("1e5"), is a name.
    """
    text = f"{Decimal(str(value)):f}" if isinstance(value, float) else str(value)
    text = text.strip().lower().replace("_", " ")
    if _FRACTION.fullmatch(text):
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


KIND: Final = "fdb-v3"
TABLES: Final[Mapping[str, type[ToolServices]]] = {"released": ReleasedServices, "paper": PaperServices}
"""The functions by the name of their list; "released" if none is named."""
AS_RELEASED: Final = "as-released"
RELEASED_LATENCIES: Final = {
    "search_flights": PROFILES["normal"],
    "search_apartments": PROFILES["normal"],
    "calculate_commute": PROFILES["normal"],
    "update_search_filter": PROFILES["fast"],
}
"""Latencies of the released code, whatever its profile is; its other eight functions answer at once."""

_LATENCY: Final = replace(
    LATENCY, form=f"{AS_RELEASED}, {LATENCY.form}", fits=lambda text: text == AS_RELEASED or LATENCY.fits(text)
)
_SETTINGS: Final = tuple(_LATENCY if each is LATENCY else each for each in SETTINGS)


def fdb_v3_world(address: str) -> Fdb3World:
    """The world at "fdb-v3:LIST?SETTINGS". SettingsError for another list, or a wrong setting."""
    _, table, settings = parsed(address, _SETTINGS)
    if (table or "released") not in TABLES:
        raise SettingsError(f"{KIND}: expected one of {', '.join(TABLES)}, got {table!r}")
    return Fdb3World(table or "released", **settings)


class Fdb3World(FunctionWorld):
    """The functions of one list, and what the calls of one conversation have changed."""

    def __init__(self, table: str, latency: str, timeout_s: float, faults: str) -> None:
        self._table, self._as_released = table, latency == AS_RELEASED
        self._services = TABLES[table]()
        functions = self._services.functions()
        super().__init__(KIND, functions, "instant" if self._as_released else latency, timeout_s, faults)

    def latency_ticks(self, name: str, earlier: int, random: Random) -> int:
        """As the profile says; as-released: the function's own."""
        if not self._as_released:
            return super().latency_ticks(name, earlier, random)
        return RELEASED_LATENCIES.get(name, PROFILES["instant"]).draw_ticks(earlier, random)

    def state(self) -> Any:  # noqa: ANN401
        """The tables that the calls have written, each with its values by key."""
        return self._services.changed

    def describe(self) -> Mapping[str, Any]:
        """The list of functions, the settings, and the tools, as JSON values."""
        own = {"list": self._table} | ({"latency": AS_RELEASED} if self._as_released else {})
        return {**super().describe(), **own}
