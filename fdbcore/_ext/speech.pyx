"""Where speech begins and ends on one side: a model says whether there is speech, the levels say when.

The thresholds are relative: to the loudest tick of the speech, and to the background beside it. So neither the gain of a
line nor what lies between the words of a party (silence, comfort noise, the noise of a room) moves an edge that the level
shows; the model's own answer depends on the level a little.

Voice: the level of the side's speech. What stays 20 dB below it is another's: crosstalk, or talk behind. It falls slowly,
so a side that goes on more softly is heard again.

Background: what is heard where the model finds no speech, as the median and the spread of the level in three bands, over
the last second of that. A tick *stands out* if it lies within the range of speech below the peak, and if one band lies
above the background. It also stands out if one band lies well below: noise that is not there under the speech is comfort
noise, so the speech is heard as if there were none.

Edges: speech goes on before the model's start, and after its end, as long as ticks stand out; the model's end may come
late, so the last ticks before it must stand out too. Where they still stand out at the edge of what is searched, the
level does not show where speech ends, and the edge is the model's, less its mean delay. So it is in restless noise if the
level misses much of what the model finds, and where the level fades slowly at most ends: that is a room.

Flat noise at an end, at the level of the quietest ticks inside speech, is that of a gate that has not closed yet.
In noise, soft beginnings and ends are hidden: the less the peak stands out from what surrounds it, the more is added.
"""

cimport cython
from libc.math cimport fabs, fmax, fmin, pow
from libc.stdint cimport int16_t, int64_t
from libc.string cimport memset

from fdbcore._ext.bank cimport BANDS, FORMAT_DB, FRAME, SILENCE_DB, FilterBank, decibels, design_bank, filter_frame, take_frame
from fdbcore._ext.recent cimport (
    Least, Recent, followed_voice, forget_before, is_flat, put_least, quantile, remember
)

from fdbcore.errors import FrameError

cdef enum:
    DELAY_TICKS = 32
    SURE_TICKS = 28  # the model has judged the tick so far behind the decided one, whatever the filter before it delays
    RING = 512  # a power of two above PEAK_TICKS + DELAY_TICKS
    SMOOTH_TICKS = 2  # a band's level is averaged over this many ticks on either side
    PEAK_TICKS = 200  # 2 s: a phrase
    WINDOW_MS = 32
    TICK_MS = 10
    ALL = BANDS  # the place of the whole level after the bands'

    BACKGROUND_TICKS = 100  # the last second without speech; the first tenth of it is a first guess
    BACKGROUND_AHEAD = 20  # of the decided tick
    CLEAR_AFTER = 5  # the background keeps this many ticks from the end of the model's speech ...
    CLEAR_BEFORE = 8  # ... and from its start
    INSIDE_TICKS = 200  # the last 2 s inside sure speech
    INSIDE_AHEAD = 24

    BEFORE_TICKS = 25  # how far before the model's start speech may begin ...
    AFTER_TICKS = 10  # ... and how far after its end it may go on; 98 % of edges on any line are nearer ...
    RESTLESS_BEFORE = 12  # ... but restless noise often stands out
    RESTLESS_AFTER = 2
    START_LATE = 2  # mean delays of the model
    END_LATE = 5
    NEAR_TICKS = 4  # the level's edge is searched from this many ticks inside the model's speech on
    DIP_TICKS = 7  # a stop consonant after the first sound of a word
    DIP_SPEECH_TICKS = 3  # what lies before the dip is speech if it lasts this long
    REACH_TICKS = AFTER_TICKS + 8  # how far back the end of speech is searched
    EXPLAINED_TICKS = 100

    SOFT_TICKS = 30  # how long soft sounds may go on after loud ones: a drawn-out "s" at the end of a word

    CROWD_TICKS = 500  # nobody speaks for 5 s without a pause: if the model hears none, others talk behind
    CROWD_PAUSE_TICKS = 10

    FLAT_TICKS = 8  # a sound of speech seldom stays the same for so long
    AROUND_TICKS = 4  # what surrounds the speech is heard in this many ticks
    FADES = 5  # a room is told by the last ends of speech ...
    FEWEST_FADES = 3  # ... once there are so many
    SLOW_FADE_TICKS = 5  # 12 dB in more than 50 ms: a reverberation time above 0.25 s

cdef double RANGE_DB = 42.0  # speech lies within this range below its loudest tick
cdef double FADE_DB = 28.0  # from here down to the range a fade is timed
cdef double FAR_BELOW_DB = 20.0  # what stays so far below the side's speech is another's: crosstalk, or talk behind
cdef double CROWD_BELOW_DB = 10.0  # the background is then what stays so far below the side's speech
cdef double NO_SPEECH = 0.2  # the model's probability of background is below this one ...
cdef double SURE_SPEECH = 0.9  # ... and that inside speech is above this one
cdef double ON = 0.5  # probabilities at which the model's speech starts and ends; its authors' defaults
cdef double OFF = 0.35
cdef double SPREADS = 4.0  # a band stands out by this many spreads of the background, ...
cdef double LEAST_ABOVE_DB = 1.0  # ... by this much at least
cdef double GREATEST_ABOVE_DB = 6.0  # ... and at most
cdef double SPREADS_BELOW = 3.0
cdef double LEAST_BELOW_DB = 5.0
cdef double LEAST_SPREAD_DB = 0.1
cdef double RESTLESS_DB = 1.8  # steady noise spreads by 0.5 to 1 dB in a band, talk and music by 2.5 and more
cdef double EXPLAINED = 0.6  # of the model's speech must stand out, else restless noise hides it
cdef double FLAT_DB = 1.2  # standard deviation of a band within FLAT_TICKS ...
cdef double FLAT_LOW_DB = 1.6  # ... and of the lowest band, as of the whole: noise of so few hertz varies more
cdef double FLAT_BELOW_PEAK_DB = 12.0
cdef double FLAT_ABOVE_INSIDE_DB = 3.0
cdef double FLAT_OFF_BACKGROUND_DB = 4.0  # nearer it is the background itself
cdef double INSIDE_QUANTILE = 0.05
cdef double START_HEARD_DB = 24.0  # a peak so far above what surrounds it hides no beginning, ...
cdef double END_HEARD_DB = 28.0  # ... or no end
cdef double HIDDEN_DB_PER_TICK = 5.0
cdef double MOST_HIDDEN_TICKS = 4.0
cdef double SILENT_AROUND_DB = 3.0

cdef double SOFTEST_PEAK_DB = -30.0  # softer speech is raised to this peak for the model, which hears it worse ...
cdef double LEAST_PEAK_DB = -70.0  # ... but not what is softer than this
cdef double FALL_DB = 0.032  # of the loudest tick in a window of speech: 1 dB/s
cdef double UNHEARD_DB = 40.0  # before speech is heard, it may be so much louder than what is heard; within 2 s of speech ...
cdef double UNHEARD_FALL_DB = 0.64  # ... this allowance goes, a window at a time

cdef double SEEMS_ABOVE_DB = 9.0


@cython.final
cdef class SpeechDetector:
    """The decision on tick n comes with the frame of tick n + 32, and depends on no later one.

    Push each frame; after it, `judge` what the model says of each window of 32 ms whose samples have come.
    """

    cdef FilterBank _bank
    cdef double[RING][BANDS] _power
    cdef double[RING][BANDS + 1] _level  # of single ticks: bands, then all above 80 Hz, dBFS
    cdef double[RING][BANDS] _smooth
    cdef double[RING] _flat_level  # of the last flat stretch that holds the tick
    cdef int64_t[RING] _flat_last  # its last tick; -1 if there is none
    cdef float[RING] _probability
    cdef bint[RING] _speech, _stood_out, _active
    cdef Least _loud  # of the negated levels of speech
    cdef Recent[BANDS + 1] _beside
    cdef Recent _inside
    cdef double[BANDS + 1] _background
    cdef double[BANDS] _above, _below
    cdef double _peak, _least, _voice, _loudest, _unheard
    cdef bint _knows_background, _restless, _explained
    cdef int64_t _model_start, _model_end, _fade
    cdef int64_t[FADES] _fades
    cdef int _n_fades
    cdef int64_t _n_voiced, _unbroken, _pause
    cdef bint _ended
    cdef int64_t _ticks, _judged_windows, _decided

    delay_ticks = DELAY_TICKS
    settings = {
        "delay_ticks": DELAY_TICKS,
        "range_db": RANGE_DB,
        "background_ticks": BACKGROUND_TICKS,
        "spreads": SPREADS,
        "on": ON,
        "off": OFF,
    }

    def __cinit__(self):
        cdef int band
        design_bank(&self._bank)
        memset(self._beside, 0, sizeof(self._beside))
        memset(&self._inside, 0, sizeof(self._inside))
        memset(&self._loud, 0, sizeof(self._loud))
        memset(self._speech, 0, sizeof(self._speech))
        memset(self._probability, 0, sizeof(self._probability))
        for band in range(BANDS + 1):
            self._beside[band].room = BACKGROUND_TICKS
            self._background[band] = SILENCE_DB
        self._inside.room = INSIDE_TICKS
        self._loudest, self._unheard, self._peak, self._voice = LEAST_PEAK_DB, UNHEARD_DB, SILENCE_DB, SILENCE_DB

    @cython.critical_section
    def push(self, frame):
        """Take the frame of tick n, int16 (480,); return whether tick n - 32 is active (False while that is below 0).

        Raises FrameError for any other frame, or after `finish`.
        """
        cdef int16_t[FRAME] samples
        cdef bint active = False
        take_frame(frame, samples)
        if self._ended:
            raise FrameError("frame: expected none after finish(), got one more")
        self._measure(samples)
        self._ticks += 1
        if self._ticks > DELAY_TICKS:
            active = self._decide(self._ticks - 1 - DELAY_TICKS)
        return active

    @cython.critical_section
    def judge(self, double probability):
        """Take the model's probability of speech in the next window of 32 ms."""
        cdef int64_t first = (self._judged_windows * WINDOW_MS + TICK_MS - 1) // TICK_MS
        cdef int64_t tick, end = ((self._judged_windows + 1) * WINDOW_MS + TICK_MS - 1) // TICK_MS
        cdef bint speech = probability >= (OFF if first > 0 and self._speech[(first - 1) & (RING - 1)] else ON)
        for tick in range(first, end):
            self._probability[tick & (RING - 1)] = <float>probability
            self._speech[tick & (RING - 1)] = speech
        self._judged_windows += 1
        if speech:
            self._loudest = fmax(self._loudest - FALL_DB, LEAST_PEAK_DB)
            self._unheard = fmax(self._unheard - UNHEARD_FALL_DB, 0.0)

    @property
    @cython.critical_section
    def gain(self):
        """The factor that the model's next window needs: 1 for speech that is loud enough for it."""
        return pow(10.0, fmax(SOFTEST_PEAK_DB - self._loudest - self._unheard, 0.0) / 20.0)

    @cython.critical_section
    def finish(self):
        """The activity of the last 32 ticks (fewer if fewer were pushed). It ends the stream."""
        active = []
        if not self._ended:
            self._smooth_ticks(self._ticks - SMOOTH_TICKS, self._ticks)
            for tick in range(max(self._ticks - DELAY_TICKS, 0), self._ticks):
                active.append(bool(self._decide(tick)))
        self._ended = True
        return active

    @property
    @cython.critical_section
    def seems_active(self):
        """True if the newest tick is as loud as speech: in range of the last peak, and well above the background."""
        cdef int64_t slot = (self._ticks - 1) & (RING - 1)
        cdef int band
        if self._ticks == 0 or self._level[slot][ALL] < fmax(self._peak - RANGE_DB, FORMAT_DB):
            return False
        for band in range(BANDS):
            if self._level[slot][band] >= self._background[band] + SEEMS_ABOVE_DB:
                return True
        return not self._knows_background

    cdef void _measure(self, const int16_t *frame) noexcept nogil:
        cdef int64_t tick = self._ticks, slot = self._ticks & (RING - 1)
        cdef int band
        if tick == 0:  # as if the first sample had always been there, so that a DC offset makes no step
            self._bank.x1 = self._bank.x2 = frame[0]
        self._level[slot][ALL] = decibels(filter_frame(&self._bank, frame, self._power[slot]))
        for band in range(BANDS):
            self._level[slot][band] = decibels(self._power[slot][band])
        self._loudest = fmax(self._loudest, self._level[slot][ALL])
        self._flat_last[slot] = -1
        if tick >= FLAT_TICKS - 1:
            self._find_flat(tick - FLAT_TICKS + 1)
        self._ticks += 1
        self._smooth_ticks(tick - SMOOTH_TICKS, tick - SMOOTH_TICKS + 1)
        self._ticks -= 1

    cdef void _smooth_ticks(self, int64_t first, int64_t end) noexcept nogil:
        """Average the bands around each of the ticks from `first` to `end`, as far as ticks have come."""
        cdef int64_t tick, other
        cdef double power
        cdef int band
        for tick in range(max(first, 0), end):
            for band in range(BANDS):
                power = 0.0
                for other in range(max(tick - SMOOTH_TICKS, 0), min(tick + SMOOTH_TICKS, self._ticks - 1) + 1):
                    power += self._power[other & (RING - 1)][band]
                power /= min(tick + SMOOTH_TICKS, self._ticks - 1) - max(tick - SMOOTH_TICKS, 0) + 1
                self._smooth[tick & (RING - 1)][band] = decibels(power)

    cdef void _find_flat(self, int64_t first) noexcept nogil:
        """Mark the FLAT_TICKS ticks from `first` on if no band changes in them."""
        cdef double mean, most
        cdef int64_t tick
        cdef int band
        for band in range(BANDS + 1):
            most = FLAT_LOW_DB if band == 0 or band == ALL else FLAT_DB
            if not is_flat(&self._level[0][band], BANDS + 1, first, FLAT_TICKS, RING, most, &mean):
                return
        for tick in range(first, first + FLAT_TICKS):
            self._flat_last[tick & (RING - 1)] = first + FLAT_TICKS - 1
            self._flat_level[tick & (RING - 1)] = mean

    # The decision on a tick

    cdef bint _decide(self, int64_t tick) noexcept nogil:
        cdef int64_t slot = tick & (RING - 1)
        cdef bint active = False
        self._fade = -1
        self._stood_out[slot] = True
        self._learn(tick)
        if self._peak > SILENCE_DB and self._find_model(tick) and self._is_near(tick):
            self._stood_out[slot] = self._stands_out(tick)
            self._explained = not self._restless or self._is_crowd() or self._explains(tick)
            if self._speech[slot] and not self._ends_by(tick + END_LATE + NEAR_TICKS):
                active = not self._explained or self._stands_out_nearby(tick)
            elif self._model_end >= 0:
                active = tick < self._end(tick)
            if not active and self._model_start >= 0:
                active = tick >= self._start(tick)
        if self._fade >= 0 and not active and tick > 0 and self._active[(tick - 1) & (RING - 1)]:
            self._fades[self._n_fades % FADES] = self._fade
            self._n_fades += 1
        self._active[slot] = active
        return active

    cdef bint _ends_by(self, int64_t tick) noexcept nogil:
        """True if the model's speech is known to end at `tick` or before."""
        return 0 <= self._model_end <= tick

    cdef int64_t _known(self, int64_t tick) noexcept nogil:
        """The last tick that the decision on `tick` knows."""
        return min(tick + SURE_TICKS, self._ticks - 1)

    cdef void _learn(self, int64_t tick) noexcept nogil:
        """Take the ticks into account that the decision on `tick` is the first to know."""
        cdef int64_t other, near, known = self._known(tick)
        cdef double level
        cdef bint clear
        cdef int band
        for other in range(0 if tick == 0 else tick + SURE_TICKS, known + 1):
            if self._speech[other & (RING - 1)]:
                level = self._level[other & (RING - 1)][ALL]
                put_least(&self._loud, other, -level)
                self._voice = followed_voice(self._voice, level, FAR_BELOW_DB) if self._n_voiced else level
                self._n_voiced += 1
                self._unbroken += 1
                self._pause = 0
                if self._is_crowd() and level < self._voice - CROWD_BELOW_DB:
                    self._learn_background(other)
            else:
                self._pause += 1
                if self._pause >= CROWD_PAUSE_TICKS:
                    self._unbroken = 0
        forget_before(&self._loud, tick - PEAK_TICKS)
        self._peak = SILENCE_DB if self._loud.end == self._loud.first else -self._loud.value[self._loud.first]
        self._least = fmax(self._peak - RANGE_DB, FORMAT_DB)
        for other in range(0 if tick == 0 else tick + INSIDE_AHEAD, min(tick + INSIDE_AHEAD, known) + 1):
            if self._probability[other & (RING - 1)] > SURE_SPEECH:
                remember(&self._inside, self._level[other & (RING - 1)][ALL])
        for other in range(0 if tick == 0 else tick + BACKGROUND_AHEAD, min(tick + BACKGROUND_AHEAD, known) + 1):
            clear = self._probability[other & (RING - 1)] < NO_SPEECH
            for near in range(max(other - CLEAR_AFTER, 0), min(other + CLEAR_BEFORE, known) + 1):
                clear = clear and not self._speech[near & (RING - 1)]
            if clear:
                self._learn_background(other)

    cdef bint _is_crowd(self) noexcept nogil:
        return self._unbroken >= CROWD_TICKS

    cdef void _learn_background(self, int64_t tick) noexcept nogil:
        cdef double spread
        cdef int band
        for band in range(BANDS):
            remember(&self._beside[band], self._smooth[tick & (RING - 1)][band])
        remember(&self._beside[ALL], self._level[tick & (RING - 1)][ALL])
        self._knows_background = self._beside[ALL].n >= BACKGROUND_TICKS // 10
        if not self._knows_background:
            return
        self._restless = False
        self._background[ALL] = quantile(&self._beside[ALL], 0.5)
        for band in range(BANDS):
            self._background[band] = quantile(&self._beside[band], 0.5)
            spread = (quantile(&self._beside[band], 0.84) - quantile(&self._beside[band], 0.16)) / 2.0
            spread = fmax(spread, LEAST_SPREAD_DB)
            self._restless = self._restless or spread > RESTLESS_DB
            self._above[band] = self._background[band] + fmin(fmax(SPREADS * spread, LEAST_ABOVE_DB), GREATEST_ABOVE_DB)
            self._below[band] = self._background[band] - fmax(SPREADS_BELOW * spread, LEAST_BELOW_DB)

    cdef bint _find_model(self, int64_t tick) noexcept nogil:
        """Find the start and the end of the model's speech near `tick`, -1 if there is none; is there any speech?"""
        cdef int64_t other, known = self._known(tick)
        self._model_start = self._model_end = -1
        if self._speech[tick & (RING - 1)]:
            for other in range(tick + 1, known + 1):
                if not self._speech[other & (RING - 1)]:
                    self._model_end = other
                    break
            return True
        for other in range(tick + 1, min(tick + self._most_before(), known) + 1):
            if self._speech[other & (RING - 1)]:
                self._model_start = other
                break
        for other in range(tick, max(tick - self._most_after(), 0), -1):
            if self._speech[(other - 1) & (RING - 1)]:
                self._model_end = other
                break
        return self._model_start >= 0 or self._model_end >= 0

    cdef bint _is_near(self, int64_t tick) noexcept nogil:
        """True if the model's speech around `tick` is as loud as the side's own."""
        cdef int64_t first = max(tick - SOFT_TICKS, 0), last = min(tick + SURE_TICKS, self._known(tick)), other
        for other in range(first, last + 1):
            if self._speech[other & (RING - 1)] and self._level[other & (RING - 1)][ALL] > self._voice - FAR_BELOW_DB:
                return True
        return False

    cdef int64_t _most_before(self) noexcept nogil:
        return RESTLESS_BEFORE if self._restless else BEFORE_TICKS

    cdef int64_t _most_after(self) noexcept nogil:
        return RESTLESS_AFTER if self._restless else AFTER_TICKS

    cdef bint _stands_out(self, int64_t tick) noexcept nogil:
        cdef int64_t slot = tick & (RING - 1)
        cdef bint out = not self._knows_background
        cdef int band
        if self._level[slot][ALL] < self._least:
            return False
        for band in range(BANDS):
            out = out or self._smooth[slot][band] > self._above[band]
            out = out or (not self._restless and self._smooth[slot][band] < self._below[band])
        return out and not self._is_gate_noise(tick)

    cdef bint _stands_out_nearby(self, int64_t tick) noexcept nogil:
        """True if `tick` stands out, or one so near that noise may hide what lies between."""
        cdef double background = fmax(fmax(self._background[0], self._background[1]), self._background[2])
        cdef int64_t hidden = <int64_t>self._hidden(background, END_HEARD_DB), other
        for other in range(max(tick - 2 * hidden, 0), min(tick + hidden, self._known(tick)) + 1):
            if self._stands_out(other):
                return True
        return False

    cdef bint _is_gate_noise(self, int64_t tick) noexcept nogil:
        """True if `tick` is in a flat stretch at the end of the speech, and as soft as what lies under the speech."""
        cdef int64_t slot = tick & (RING - 1)
        cdef double level = self._flat_level[slot]
        if self._flat_last[slot] < 0 or self._inside.n < INSIDE_TICKS // 5:
            return False
        if level > self._peak - FLAT_BELOW_PEAK_DB or level >= quantile(&self._inside, INSIDE_QUANTILE) + FLAT_ABOVE_INSIDE_DB:
            return False
        if fabs(level - self._background[ALL]) <= FLAT_OFF_BACKGROUND_DB:
            return False
        if self._model_end < 0 or tick > self._model_end + AFTER_TICKS:
            return False
        return self._flat_last[slot] >= self._model_end - NEAR_TICKS

    cdef bint _explains(self, int64_t tick) noexcept nogil:
        """True if most of the model's speech around `tick` stands out."""
        cdef int64_t other, speech = 0, explained = 0
        for other in range(max(tick - EXPLAINED_TICKS, 0), self._known(tick) + 1):
            if self._speech[other & (RING - 1)]:
                speech += 1
                explained += self._stood_out[other & (RING - 1)] if other <= tick else self._stands_out(other)
        return explained >= EXPLAINED * speech

    cdef int64_t _end(self, int64_t tick) noexcept nogil:
        """The first tick after the speech, as `tick` knows it."""
        cdef int64_t known = self._known(tick), first = max(tick - REACH_TICKS, 0), limit = self._model_end + self._most_after()
        cdef int64_t model_end = self._model_end - END_LATE, end, loud
        cdef double around
        end = max(self._model_end - NEAR_TICKS, first)
        if not self._stands_out(end):
            while end > first and not self._stands_out(end - 1):
                end -= 1
        else:
            while end <= min(limit, known) and self._stands_out(end):
                end += 1
            if end > limit:
                return model_end
        if not self._explained:
            return model_end
        around = self._loudest_band(end + 1, min(end + AROUND_TICKS, known))
        if around < self._peak - RANGE_DB + SILENT_AROUND_DB:
            loud = end - 1
            while loud > first and self._level[loud & (RING - 1)][ALL] < self._peak - FADE_DB:
                loud -= 1
            self._fade = end - loud
            if self._fade > SLOW_FADE_TICKS and end > model_end and self._is_room():
                return model_end
        return end + <int64_t>(2.0 * self._hidden(around, END_HEARD_DB))

    cdef int64_t _start(self, int64_t tick) noexcept nogil:
        """The first tick of the speech, as `tick` knows it."""
        cdef int64_t known = self._known(tick), limit = max(self._model_start - self._most_before(), 0)
        cdef int64_t start = min(self._model_start + NEAR_TICKS, known), dip
        if not self._stands_out(start):
            while start < known and not self._stands_out(start):
                start += 1
        else:
            start = self._run_start(start, limit)
            dip = start - 2
            while not self._restless and dip >= max(start - DIP_TICKS - 1, limit + DIP_SPEECH_TICKS - 1):
                if self._run_start(dip, limit) <= dip - DIP_SPEECH_TICKS + 1:
                    start = self._run_start(dip, limit)
                    break
                dip -= 1
            if start == limit > 0:
                return self._model_start - START_LATE
            dip = start + SMOOTH_TICKS
            while start < dip and not self._is_sharp(start):  # the average already rises before the level does
                start += 1
        if not self._explained:
            return self._model_start - START_LATE
        return start - <int64_t>self._hidden(self._loudest_band(start - AROUND_TICKS - 1, start - 2), START_HEARD_DB)

    cdef bint _is_sharp(self, int64_t tick) noexcept nogil:
        """True if `tick` stands out without its neighbours."""
        cdef int64_t slot = tick & (RING - 1)
        cdef int band
        for band in range(BANDS):
            if self._level[slot][band] > self._above[band] or self._level[slot][band] < self._below[band]:
                return True
        return not self._knows_background

    cdef int64_t _run_start(self, int64_t tick, int64_t limit) noexcept nogil:
        """The first of the ticks up to `tick` that stand out without a break, from `limit` on; `tick` + 1 if none."""
        while tick >= limit and self._stands_out(tick):
            tick -= 1
        return tick + 1

    cdef double _loudest_band(self, int64_t first, int64_t last) noexcept nogil:
        """The mean level in ticks `first` to `last` of the band in which it is greatest."""
        cdef double total, loudest = SILENCE_DB
        cdef int64_t tick
        cdef int band
        first = max(first, 0)
        for band in range(BANDS):
            total = 0.0
            for tick in range(first, last + 1):
                total += self._smooth[tick & (RING - 1)][band]
            if last >= first:
                loudest = fmax(loudest, total / (last + 1 - first))
        return loudest

    cdef double _hidden(self, double around, double heard_db) noexcept nogil:
        """The number of ticks of a beginning that noise of the level `around` hides."""
        return fmin(fmax((heard_db - (self._peak - around)) / HIDDEN_DB_PER_TICK, 0.0), MOST_HIDDEN_TICKS)

    cdef bint _is_room(self) noexcept nogil:
        """True if this and most of the ends before it fade slowly."""
        cdef int slow = 1, n = min(self._n_fades, FADES - 1), i
        for i in range(n):
            slow += self._fades[(self._n_fades - 1 - i) % FADES] > SLOW_FADE_TICKS
        return n + 1 >= FEWEST_FADES and 2 * slow > n + 1
