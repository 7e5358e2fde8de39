edges_hz: list[float]
__pyx_capi__: dict[str, object]  # what `level` and `speech` call
