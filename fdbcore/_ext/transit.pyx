"""Minimum transit of a packet stream: what the path takes at its quickest, and how the two clocks drift apart."""

from libc.string cimport memmove

cimport cython

cdef enum:
    SECOND = 48_000
    WINDOW = SECOND // 2
    MEMORY = WINDOWS * WINDOW  # 10 s
    LEAST_SPAN = 2 * SECOND  # of minima, for a drift to be told from jitter
    MOST_DRIFT = 2000  # 1/2000 = 500 ppm


@cython.final
@cython.auto_pickle(False)
cdef class MinimumTransit:
    """The line of minimum transit, in samples at 48 kHz: arrival - timestamp of packets that met no queue.

    It lies below the minima per 0.5 s of the last 10 s and is as high on average as it can be (Moon, Skelly and
    Towsley 1999): jitter, which only adds, does not bend it, and its slope is the drift of the clocks. Over the first
    2 s it is level. A slope over 500 ppm is no clock but a step of the path: what lies before it is forgotten.
    """

    def __cinit__(self):
        self.forget()

    cpdef void forget(self) noexcept nogil:
        """Begin anew."""
        self.count = 0
        self.last_arrival = self.line_at = self.line_low = self.line_rise = 0
        self.line_run = 1

    cpdef void observe(self, int64_t arrival, int64_t transit) noexcept nogil:
        """Take in a packet; they come in order of arrival."""
        cdef Window *window = &self.windows[self.count - 1]
        cdef bint opens = self.count == 0 or arrival - window.start >= WINDOW
        cdef int32_t old = 0
        if opens:
            while old < self.count and self.windows[old].start <= arrival - MEMORY:
                old += 1
            self.forget_oldest(old)
            window = &self.windows[self.count]
            window.start, window.at, window.low, window.peak = arrival, arrival, transit, 0
            self.count += 1
        elif transit < window.low:
            window.at, window.low = max(arrival, window.start), transit
        self.last_arrival = max(arrival, window.start)
        if opens or transit < self.at(arrival):
            self.fit()
            window = &self.windows[self.count - 1]
        window.peak = max(window.peak, transit - self.at(arrival))

    cpdef int64_t at(self, int64_t sample) noexcept nogil:
        """Minimum transit at `sample`; the drift is followed for 10 s after the last packet."""
        cdef int64_t ahead = min(sample, self.last_arrival + MEMORY) - self.line_at
        return self.line_low + ahead * self.line_rise // self.line_run

    cpdef int64_t peak_since(self, int64_t sample) noexcept nogil:
        """The furthest that a packet since `sample`, by 0.5 s, was above the line as it was then."""
        cdef int64_t peak = 0
        cdef int32_t index
        for index in range(self.count):
            if self.windows[index].start > sample:
                peak = max(peak, self.windows[index].peak)
        return peak

    cdef void forget_oldest(self, int32_t windows) noexcept nogil:
        self.count -= windows
        memmove(&self.windows[0], &self.windows[windows], self.count * sizeof(Window))

    cdef void fit(self) noexcept nogil:
        cdef Window *windows = self.windows
        cdef int32_t right, other, left = 0
        cdef int64_t mean, rise, run
        while windows[self.count - 1].at - windows[0].at >= LEAST_SPAN:
            mean = 0
            for other in range(self.count):
                mean += windows[other].at - windows[0].at
            mean = windows[0].at + mean // self.count
            right = 0
            while windows[right].at <= mean:  # along the lower hull, to its edge over the mean
                left = right
                right = left + 1
                for other in range(left + 2, self.count):
                    rise, run = windows[other].low - windows[left].low, windows[other].at - windows[left].at
                    if rise * (windows[right].at - windows[left].at) <= (windows[right].low - windows[left].low) * run:
                        right = other
            rise, run = windows[right].low - windows[left].low, windows[right].at - windows[left].at
            if -run <= rise * MOST_DRIFT <= run:
                self.line_at, self.line_low, self.line_rise, self.line_run = windows[right].at, windows[right].low, rise, run
                return
            self.forget_oldest(left + 1)
        self.hold_lowest()

    cdef void hold_lowest(self) noexcept nogil:
        cdef int32_t index, lowest = 0
        for index in range(1, self.count):
            if self.windows[index].low <= self.windows[lowest].low:
                lowest = index
        self.line_at, self.line_low = self.windows[lowest].at, self.windows[lowest].low
        self.line_rise, self.line_run = 0, 1
