"""The 11 functions of the paper's Table 1. What they return is not published: they echo what they were given."""

from __future__ import annotations

from typing import Any

from fdbcore.suites.fdb_v3.world.services import ToolServices


class PaperServices(ToolServices):
    """The same four domains, with the names and arguments that the paper lists."""

    def search_flights(self, destination: str, date: str) -> dict[str, Any]:
        """Find flights to a city on a date."""
        flight = {"flight_id": "FL123", "destination": destination, "date": date, "price": 450.0}
        return {"status": "success", "flights": [flight]}

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
