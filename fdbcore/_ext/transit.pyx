"""Minimum transit of a packet stream: the fastest transit of the path, and the drift between the two clocks."""

from libc.string cimport memmove

cimport cython

cdef enum:
    SECOND = 48_000
    WINDOW = SECOND // 2
    MEMORY = WINDOWS * WINDOW  # 10 s
    LEAST_SPAN = 3 * SECOND // 2  # the minima must span this much before drift can be told from jitter
    STEP = SECOND // 1000  # a packet 1 ms below the line shows that the path has become shorter
    MOST_DRIFT = 1000  # 1/1000 = 1000 ppm


@cython.final
@cython.auto_pickle(False)
cdef class MinimumTransit:
    """The line of minimum transit, in samples at 48 kHz: arrival - timestamp of packets that met no queue.

    The line lies below the minima of each 0.5 s in the last 10 s, as high as possible at their mean time (Moon, Skelly
    and Towsley 1999). Jitter only delays packets, so it does not bend the line. The slope, at most 1000 ppm, is the
    drift of the clocks; it is 0 until 1.5 s are known. If the path becomes shorter by 1 ms or more, the line follows at
    once, and earlier minima are forgotten. If it becomes longer, the line follows after 10 s.
    """

    def __cinit__(self):
        self.run = 1

    cpdef void forget(self) noexcept nogil:
        """Forget all packets."""
        self.count = self.first = 0

    cpdef void observe(self, int64_t arrival, int64_t transit) noexcept nogil:
        """Take a packet: its arrival, and its transit (arrival - timestamp). Packets come in order of arrival."""
        cdef bint opens = self.count == 0 or arrival - self.windows[self.count - 1].start >= WINDOW
        cdef Window *window
        if opens:
            self.open_window(arrival, transit)
        window = &self.windows[self.count - 1]
        if transit < window.low:
            window.at, window.low = max(arrival, window.start), transit
        self.last_arrival = max(arrival, window.start)
        if transit < self.at(arrival) - STEP:
            self.first = self.count - 1
        if opens or transit < self.at(arrival):
            self.fit()
        window.peak = max(window.peak, transit - self.at(arrival))

    cpdef int64_t at(self, int64_t sample) noexcept nogil:
        """The minimum transit at `sample`. The drift is extrapolated for at most 10 s after the last packet."""
        cdef int64_t ahead = min(sample, self.last_arrival + MEMORY) - self.line_at
        return self.line_low + ahead * self.rise // self.run

    cpdef int64_t peak_since(self, int64_t sample) noexcept nogil:
        """The height above the line (as it was then) of the slowest packet since `sample`, to within 0.5 s."""
        cdef int64_t peak = 0
        cdef int32_t index
        for index in range(self.count):
            if self.windows[index].start > sample:
                peak = max(peak, self.windows[index].peak)
        return peak

    cdef void open_window(self, int64_t arrival, int64_t transit) noexcept nogil:
        cdef Window *window
        cdef int32_t old = 0
        while old < self.count and self.windows[old].start <= arrival - MEMORY:
            old += 1
        self.count -= old
        self.first = max(self.first - old, 0)
        memmove(&self.windows[0], &self.windows[old], self.count * sizeof(Window))
        window = &self.windows[self.count]
        window.start, window.at, window.low, window.peak = arrival, arrival, transit, 0
        self.count += 1

    cdef void fit(self) noexcept nogil:
        cdef Window *windows = self.windows
        cdef int32_t index, lowest = self.first
        cdef int64_t rise, run
        if windows[self.count - 1].at - windows[self.first].at >= LEAST_SPAN:
            self.fit_slope()
        for index in range(self.first + 1, self.count):
            rise, run = windows[index].low - windows[lowest].low, windows[index].at - windows[lowest].at
            if rise * self.run <= run * self.rise:
                lowest = index
        self.line_at, self.line_low = windows[lowest].at, windows[lowest].low

    cdef void fit_slope(self) noexcept nogil:
        """Set the slope to that of the edge of the minima's lower convex hull at their mean time.

        No other line below all minima is higher there.
        """
        cdef Window *windows = self.windows
        cdef int32_t other, left = 0, right = self.first
        cdef int64_t rise, run, mean = 0
        for other in range(self.first, self.count):
            mean += windows[other].at - windows[self.first].at
        mean = windows[self.first].at + mean // (self.count - self.first)
        while windows[right].at <= mean:
            left = right
            right = left + 1
            for other in range(left + 2, self.count):
                rise, run = windows[other].low - windows[left].low, windows[other].at - windows[left].at
                if rise * (windows[right].at - windows[left].at) <= (windows[right].low - windows[left].low) * run:
                    right = other
        rise, run = windows[right].low - windows[left].low, windows[right].at - windows[left].at
        self.rise, self.run = max(min(rise * MOST_DRIFT, run), -run), run * MOST_DRIFT
