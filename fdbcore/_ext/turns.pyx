"""The turn detector: takes the activity of both sides tick by tick, and returns turn events."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t, uint8_t

from fdbcore.errors import FrameError, SettingsError
from fdbcore.types import TurnEvent, TurnSettings

# The kinds of events; the names are those of `fdbcore.types.TurnKind`.
cdef enum Kind:
    SPEECH_START, SPEECH_END, PAUSE, GAP, OVERLAP_WITHIN, OVERLAP_BETWEEN, INTRUSION, TURN, NO_RESPONSE

KINDS = ("speech_start", "speech_end", "pause", "gap", "overlap_within", "overlap_between", "intrusion", "turn",
         "no_response")
SIDES = ("A", "B")

cdef int64_t NEVER = -1
cdef int NOBODY = -1


cdef struct Span:
    int64_t start, end


cdef struct Spans:  # a list that keeps its memory
    Span* items
    Py_ssize_t n, room


cdef struct Voice:  # layer 0 of one side, and what the floor sees of it at its own, later tick
    bint in_ipu             # as of the pushed tick
    int64_t run             # active ticks in a row outside an IPU, inactive ones inside
    int64_t next_start      # start of the newest IPU
    bint speaks, starts, ends  # at the floor's tick t
    int64_t start, end      # of the newest IPU that the floor has reached


cdef struct Intrusion:  # speech that began while the other held the floor; followed until its outcome is known
    int side
    int64_t start, end, stop
    bint from_overlap, simultaneous, terminal, other_ended
    bint decided, taken


cdef struct Event:
    Kind kind
    int side
    int64_t start, end, known, detail  # detail: fto, stop, or whether the other spoke
    Py_ssize_t first_stretch, n_stretches
    Intrusion intrusion


cdef int append_span(Spans* spans, int64_t start, int64_t end) except -1 nogil:
    cdef Span* grown
    if spans.n == spans.room:
        with gil:
            grown = <Span*>PyMem_Realloc(spans.items, (2 * spans.room + 8) * sizeof(Span))
            if not grown:
                raise MemoryError
        spans.items, spans.room = grown, 2 * spans.room + 8
    spans.items[spans.n] = Span(start, end)
    spans.n += 1
    return 0


@cython.final
cdef class TurnDetector:
    """Turn events of a session, from the activity of both sides, as a stream.

    Layer 0 finds the inter-pausal units of each side. The joint floor reads them min_silence_ms - 10 ms behind the
    pushed tick, when both are final. An event never changes once it is returned.

    Args:
        settings: limits in ms; None for the defaults.
        vad_delay_ticks: how many ticks later the activity of a tick becomes known; added to every `known_tick`.

    Terms: Sacks, Schegloff and Jefferson (1974); floor transfer offset: Heldner and Edlund (2010).
    """

    cdef int64_t min_speech, min_silence, K, W, Z, simultaneous, terminal, R
    cdef int64_t delay, pushed, t
    cdef bint finished
    cdef Voice voices[2]
    cdef int holder                     # H, or NOBODY
    cdef int64_t turn_start, silence_told
    cdef bint pending, from_overlap     # C, the candidate: an IPU of the side that does not hold the floor
    cdef int64_t c_start, c_end, c_silence
    cdef int64_t both_since             # start of the running stretch in which both speak
    cdef Spans silences, stretches, told_stretches
    cdef Intrusion* intrusions
    cdef Py_ssize_t n_intrusions, intrusion_room
    cdef Event* log
    cdef Py_ssize_t n_log, log_room

    def __cinit__(self, settings=None, vad_delay_ticks: int = 0):
        settings = TurnSettings() if settings is None else settings
        if not isinstance(settings, TurnSettings):
            raise SettingsError(f"settings: expected TurnSettings, got {type(settings).__name__}")
        self.min_speech, self.min_silence = settings.ticks("min_speech_ms"), settings.ticks("min_silence_ms")
        self.K, self.W, self.Z = (settings.ticks(name) for name in ("short_ms", "resume_ms", "yield_hold_ms"))
        self.simultaneous, self.terminal = settings.ticks("simultaneous_ms"), settings.ticks("terminal_ms")
        self.R = settings.ticks("response_window_ms")
        if vad_delay_ticks < 0:
            raise FrameError(f"vad_delay_ticks: expected 0 or more, got {vad_delay_ticks}")
        self.delay = vad_delay_ticks
        self.holder = NOBODY
        self.silence_told = self.both_since = NEVER
        for voice in range(2):
            self.voices[voice].next_start = self.voices[voice].start = self.voices[voice].end = NEVER

    def __dealloc__(self):
        PyMem_Free(self.silences.items)
        PyMem_Free(self.stretches.items)
        PyMem_Free(self.told_stretches.items)
        PyMem_Free(self.intrusions)
        PyMem_Free(self.log)

    @cython.critical_section
    def push(self, int64_t tick, bint active_a, bint active_b) -> list:
        """The events that become known with the activity of `tick`. Ticks come in order from 0, else FrameError."""
        if self.finished:
            raise FrameError("push: the detector is finished")
        if tick != self.pushed:
            raise FrameError(f"tick: expected {self.pushed}, got {tick}")
        self.step(active_a, active_b)
        return self.take() if self.n_log else []

    @cython.critical_section
    def push_all(self, const uint8_t[::1] active_a, const uint8_t[::1] active_b) -> list:
        """The events that become known with the next n ticks of both sides, uint8 (n,) each.

        FrameError if the two sides differ in length.
        """
        cdef Py_ssize_t i
        if self.finished:
            raise FrameError("push_all: the detector is finished")
        if active_a.shape[0] != active_b.shape[0]:
            raise FrameError(f"activity: expected the same length, got {active_a.shape[0]} and {active_b.shape[0]}")
        with nogil:
            for i in range(active_a.shape[0]):
                self.step(active_a[i] != 0, active_b[i] != 0)
        return self.take()

    @cython.critical_section
    def finish(self) -> list:
        """The events that min_silence_ms + resume_ms of further silence decide, and the last turn; all are censored."""
        cdef int64_t i, end = self.pushed
        cdef Py_ssize_t k
        if self.finished:
            raise FrameError("finish: the detector is finished")
        with nogil:
            for i in range(self.min_silence + self.W):
                self.step(False, False)
            # The floor is still one tick short of the end of that silence; this tick settles what is open.
            self.t = end + self.W
            for k in range(self.n_intrusions):
                if self.intrusions[k].decided:
                    self.tell_intrusion(&self.intrusions[k])
            if self.holder != NOBODY:
                self.tell(TURN, self.holder, self.turn_start, self.voices[self.holder].end, 0)
        self.finished = True
        return self.take(end)

    # Layer 0

    cdef int step(self, bint active_a, bint active_b) except -1 nogil:
        self.t = self.pushed - self.min_silence + 1
        self.listen(0, active_a)
        self.listen(1, active_b)
        self.pushed += 1
        if self.t >= 0:
            self.follow_intrusions()
            self.decide()
            self.settle_intrusions()
        return 0

    cdef int listen(self, int side, bint active) except -1 nogil:
        """Advance layer 0 of a side by the pushed tick, and the floor's view of it by the floor's own tick t."""
        cdef Voice* voice = &self.voices[side]
        voice.run = voice.run + 1 if active != voice.in_ipu else 0
        voice.ends = False
        if not voice.in_ipu and voice.run == self.min_speech:
            voice.in_ipu, voice.run = True, 0
            voice.next_start = self.pushed - self.min_speech + 1
            self.tell_at(SPEECH_START, side, voice.next_start, NEVER, self.pushed)
        elif voice.in_ipu and voice.run == self.min_silence:
            voice.in_ipu, voice.run = False, 0
            voice.ends, voice.speaks, voice.end = True, False, self.t
            self.tell_at(SPEECH_END, side, voice.start, voice.end, self.pushed)
        voice.starts = voice.next_start == self.t and self.t >= 0
        if voice.starts:
            voice.speaks, voice.start = True, self.t
        return 0

    # The joint floor

    cdef int decide(self) except -1 nogil:
        """Apply the first rule of the table (see `fdbcore.session.turns`) that fits tick t."""
        cdef int64_t t = self.t, since, length
        cdef Voice* a = &self.voices[0]
        cdef Voice* b = &self.voices[1]
        cdef Voice* H
        cdef Voice* O
        if self.holder == NOBODY:  # 1
            if a.starts or b.starts:
                self.holder = 0 if a.starts else 1
                self.turn_start = t
                if a.starts and b.starts:
                    self.open_candidate(t)
            return 0
        H, O = &self.voices[self.holder], &self.voices[1 - self.holder]
        if not self.pending:
            if H.starts:  # 2
                self.tell(PAUSE, self.holder, H.end, t, O.end > H.end)
            if O.starts:  # 3
                self.open_candidate(t)
            elif not H.speaks and not O.speaks:  # 4
                since = max(H.end, O.end)
                if t + 1 - since >= self.R and since != self.silence_told:
                    self.silence_told = since
                    self.tell(NO_RESPONSE, 1 - self.holder, since, since + self.R, 0)
            return 0
        self.follow_candidate(H, O)
        length = (t + 1 if self.c_end == NEVER else self.c_end) - self.c_start
        if self.c_end != NEVER and length <= self.K:
            if H.speaks and O.starts:  # 5
                self.keep()
                self.open_candidate(t)
            elif H.speaks and (H.start >= self.c_end or t >= self.c_start + self.K):  # 6
                self.keep()
            elif not H.speaks and (O.starts or t + 1 - H.end >= self.W):  # 7
                self.transfer(H, O)
        elif self.c_end != NEVER:
            if H.speaks or H.end == self.c_end:  # 8
                self.keep()
            else:  # 9
                self.transfer(H, O)
        elif length > self.K:
            if not self.from_overlap:  # 10
                self.transfer(H, O)
            elif not H.speaks and t + 1 - H.end >= self.Z:  # 11
                self.transfer(H, O)
        return 0

    cdef int open_candidate(self, int64_t start) except -1 nogil:
        """Make C the IPU that began at `start`, of the side without the floor."""
        cdef Voice* H = &self.voices[self.holder]
        self.pending, self.from_overlap = True, H.speaks
        self.c_start, self.c_end, self.c_silence = start, NEVER, H.end
        self.silences.n = self.stretches.n = 0
        self.both_since = start if H.speaks else NEVER
        return self.begin_intrusion(1 - self.holder, start, H)

    cdef int follow_candidate(self, Voice* H, Voice* O) except -1 nogil:
        """Rule 12: note H's silences, and the stretches in which both speak, while C is pending."""
        cdef bint both = H.speaks and O.speaks and self.c_end == NEVER
        if O.ends:
            self.c_end = self.t
            both = False
        if H.starts:
            append_span(&self.silences, H.end, self.t)
            if not self.from_overlap and both:  # it is an intrusion of H if C gets the floor
                self.begin_intrusion(self.holder, self.t, O)
        if both and self.both_since == NEVER:
            self.both_since = self.t
        elif not both and self.both_since != NEVER:
            append_span(&self.stretches, self.both_since, self.t)
            self.both_since = NEVER
        return 0

    cdef int keep(self) except -1 nogil:
        """H keeps the floor; C was an intrusion."""
        cdef Py_ssize_t i
        cdef Span silence
        for i in range(self.silences.n):
            silence = self.silences.items[i]
            self.tell(PAUSE, self.holder, silence.start, silence.end,
                      self.c_start < silence.end and self.c_end > silence.start)
        self.tell_overlaps_within(1 - self.holder)
        self.decide_intrusions(1 - self.holder, False)
        self.pending = False
        return 0

    cdef int transfer(self, Voice* H, Voice* O) except -1 nogil:
        """C takes the floor: its side becomes H, and its turn began where C did."""
        cdef int old = self.holder, new = 1 - self.holder
        cdef int64_t turn_end = H.end if self.from_overlap else self.c_silence
        cdef bint H_goes_on = H.speaks
        if self.from_overlap:
            self.tell_overlap_between(new, self.c_start, turn_end)
            self.decide_intrusions(new, True)
        else:
            self.tell(GAP, new, turn_end, self.c_start, self.c_start - turn_end)
            self.tell_overlaps_within(old)
            self.decide_intrusions(old, False)
        self.tell(TURN, old, self.turn_start, turn_end, 0)
        if O.starts:
            self.tell(PAUSE, new, O.end, self.t, H.end > O.end)
        self.holder, self.turn_start, self.pending = new, self.c_start, False
        if H_goes_on:  # its running IPU becomes the new C, with its own start; its intrusion record stays open
            self.pending, self.from_overlap = True, True
            self.c_start, self.c_end = H.start, NEVER
            self.silences.n = self.stretches.n = 0
        return 0

    # Intrusions: followed from their start, emitted once their outcome and the other side's silence are known

    cdef int begin_intrusion(self, int side, int64_t start, Voice* other) except -1 nogil:
        cdef Intrusion* grown
        if self.n_intrusions == self.intrusion_room:
            with gil:
                grown = <Intrusion*>PyMem_Realloc(self.intrusions, (2 * self.intrusion_room + 4) * sizeof(Intrusion))
                if not grown:
                    raise MemoryError
            self.intrusions, self.intrusion_room = grown, 2 * self.intrusion_room + 4
        cdef Intrusion* new = &self.intrusions[self.n_intrusions]
        new.side, new.start, new.end, new.stop = side, start, NEVER, NEVER
        new.from_overlap = other.speaks
        new.simultaneous = other.speaks and start - other.start <= self.simultaneous
        new.terminal = new.other_ended = new.decided = new.taken = False
        self.n_intrusions += 1
        return 0

    cdef void follow_intrusions(self) noexcept nogil:
        """Update each open record by tick t: its end, the other side's end, the other side's silence."""
        cdef Py_ssize_t i
        cdef Intrusion* one
        cdef Voice* other
        for i in range(self.n_intrusions):
            one = &self.intrusions[i]
            other = &self.voices[1 - one.side]
            if one.end == NEVER and self.voices[one.side].ends:
                one.end = self.t
            if not one.from_overlap:
                continue
            if other.ends and not one.other_ended:
                one.other_ended = True
                one.terminal = self.t - one.start <= self.terminal
            if one.stop == NEVER and one.other_ended and not other.speaks and self.t + 1 - other.end >= self.Z:
                one.stop = other.end - one.start

    cdef void decide_intrusions(self, int side, bint taken) noexcept nogil:
        """Set the outcome of the records of `side`, and drop those of the other side, which were part of its turn.

        A running IPU of the holder stays open, because it is the next candidate.
        """
        cdef Py_ssize_t i, kept = 0
        cdef Intrusion* one
        for i in range(self.n_intrusions):
            one = &self.intrusions[i]
            if not one.decided:
                if one.side != side:
                    continue
                if one.side != self.holder or one.end != NEVER:
                    one.decided, one.taken = True, taken
            self.intrusions[kept] = one[0]
            kept += 1
        self.n_intrusions = kept

    cdef int settle_intrusions(self) except -1 nogil:
        """Emit the decided records. If the other side is silent, wait until that silence is long enough or over."""
        cdef Py_ssize_t i, kept = 0
        cdef Intrusion* one
        for i in range(self.n_intrusions):
            one = &self.intrusions[i]
            if one.decided and (not one.from_overlap or one.stop != NEVER or self.voices[1 - one.side].speaks):
                self.tell_intrusion(one)
            else:
                self.intrusions[kept] = one[0]
                kept += 1
        self.n_intrusions = kept
        return 0

    # The log

    cdef int tell_at(self, Kind kind, int side, int64_t start, int64_t end, int64_t known) except -1 nogil:
        cdef Event* grown
        if self.n_log == self.log_room:
            with gil:
                grown = <Event*>PyMem_Realloc(self.log, (2 * self.log_room + 16) * sizeof(Event))
                if not grown:
                    raise MemoryError
            self.log, self.log_room = grown, 2 * self.log_room + 16
        cdef Event* event = &self.log[self.n_log]
        event.kind, event.side, event.start, event.end, event.known = kind, side, start, end, known
        self.n_log += 1
        return 0

    cdef int tell(self, Kind kind, int side, int64_t start, int64_t end, int64_t detail) except -1 nogil:
        self.tell_at(kind, side, start, end, self.t + self.min_silence - 1)
        self.log[self.n_log - 1].detail = detail
        return 0

    cdef int tell_overlaps_within(self, int side) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(self.stretches.n):
            self.tell(OVERLAP_WITHIN, side, self.stretches.items[i].start, self.stretches.items[i].end, 0)
        return 0

    cdef int tell_overlap_between(self, int side, int64_t start, int64_t end) except -1 nogil:
        cdef Py_ssize_t i, first = self.told_stretches.n
        for i in range(self.stretches.n):
            append_span(&self.told_stretches, self.stretches.items[i].start, self.stretches.items[i].end)
        self.tell(OVERLAP_BETWEEN, side, start, end, start - end)
        self.log[self.n_log - 1].first_stretch = first
        self.log[self.n_log - 1].n_stretches = self.stretches.n
        return 0

    cdef int tell_intrusion(self, Intrusion* one) except -1 nogil:
        self.tell(INTRUSION, one.side, one.start, one.end, 0)
        self.log[self.n_log - 1].intrusion = one[0]
        return 0

    cdef list take(self, int64_t end=-1):
        """Return the log as objects, and empty it. Events known at tick `end` of the activity or later are censored."""
        cdef Py_ssize_t i
        events = [self.as_object(&self.log[i], end) for i in range(self.n_log)]
        self.n_log = self.told_stretches.n = 0
        return events

    cdef object as_object(self, Event* event, int64_t end):
        cdef Py_ssize_t i, first = event.first_stretch
        cdef Intrusion* one = &event.intrusion
        fields = {}
        if event.kind == PAUSE:
            fields["other_spoke"] = bool(event.detail)
        elif event.kind == GAP or event.kind == OVERLAP_BETWEEN:
            fields["fto_ticks"] = event.detail
        if event.kind == OVERLAP_BETWEEN:
            fields["stretches"] = tuple([
                (self.told_stretches.items[i].start, self.told_stretches.items[i].end)
                for i in range(first, first + event.n_stretches)
            ])
        elif event.kind == INTRUSION:
            fields = {
                "onset": "overlap" if one.from_overlap else "silence",
                "outcome": "taken" if one.taken else "kept",
                "stop_ticks": None if one.stop == NEVER else one.stop,
                "simultaneous": bool(one.simultaneous),
                "terminal": bool(one.terminal),
            }
        return TurnEvent(
            KINDS[<int>event.kind],
            SIDES[event.side],
            event.start,
            None if event.end == NEVER else event.end,
            event.known + self.delay,
            end != NEVER and event.known >= end,
            **fields,
        )
