"""The 12 functions of the released code, in four domains: names and arguments are its own, results are ours."""

from __future__ import annotations

from typing import Any, Final

from fdbcore.suites.fdb_v3.world.services import ToolServices

UNIT_PRICE: Final = 99.99


class ReleasedServices(ToolServices):
    """Travel, finance, housing and a shop."""

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
