edges_hz: list[float]
