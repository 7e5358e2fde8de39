"""Level, background and energy-based voice activity of one side, one frame of 10 ms at a time.

A tick is speech if one of three bands stands out from its background, if the tick is within the range of speech, if it is
no comfort noise, and if it is not far below the side's voice. All of this is relative, so the gain of a line moves nothing.

Bands: 80-1000 Hz (voicing), 1000-4000 Hz (formants) and 4000-8000 Hz (friction). Each shows speech where either white
or pink noise is weak. The background of a band is the mean of its level (averaged over 50 ms) in the ticks without
speech, and the mean deviation from that mean. The deviation is small for line hiss, and large if others talk in the
room; so speech need not stand out further than the background requires. The background stays within 15 dB above the
noise floor, which is the least level in 2 s.

Range: a tick's own level above 80 Hz is within 40 dB of the loudest tick in 2 s (42 dB while it rises or fades). This
keeps edges without noise sharp. Both windows of 2 s end 140 ms after the tick that is judged.

Comfort noise, and the noise of a gate: 80 ms in which no band changes, 15 dB below the voice, and 25 dB above the floor.
Nearer to the floor it is comfort noise only where flat noise is common so far above the floor, else it may be soft
speech in steady noise: steady noise lies under the speech, and then it is the floor. What is like the last such noise in
all bands is such noise too.

Voice: the level of the side's loud ticks of speech. What stays 20 dB below it is another's: crosstalk, or talk behind.
"""

cimport cython
from libc.math cimport fabs
from libc.stdint cimport int16_t, int64_t
from libc.string cimport memset

from fdbcore._ext.bank cimport BANDS, FORMAT_DB, FRAME, SILENCE_DB, FilterBank, decibels, design_bank, filter_frame, take_frame
from fdbcore._ext.recent cimport Least, followed_voice, forget_before, is_flat, put_least

from fdbcore._ext.bank import edges_hz
from fdbcore.errors import FrameError

cdef enum:
    WINDOW_TICKS = 200  # 2 s: longer than a breath group's stretches without a dip, shorter than changes of noise
    SMOOTH_TICKS = 2  # a band's level is averaged over this many ticks on either side
    DELAY_TICKS = 20
    FLAT_TICKS = 8  # a sound of speech seldom stays the same for so long
    ONSET_TICKS = 4  # comfort noise may begin so long before it is flat
    ABOUT_TICKS = 15  # how long soft sounds may go on after loud ones
    LEAD_TICKS = 4  # speech may be taken to begin this many ticks before the first one that stands out
    DECISION_TICKS = DELAY_TICKS - LEAD_TICKS  # a tick is judged once this many later ticks have come
    RING = 64  # a power of two above DELAY_TICKS + 3 * LEAD_TICKS

cdef double BAND_BELOW_DB = 6.0  # one band of three stands out at most so far below the least level of speech
cdef double RANGE_DB = 40.0  # speech starts within this range below the loudest tick ...
cdef double FADING_RANGE_DB = 42.0  # ... or within this range while the level rises or fades from tick to tick
cdef double FLAT_DB = 1.4  # the standard deviation of a level that stays the same
cdef double FAR_BELOW_DB = 20.0  # what stays so far below the side's speech is another's: crosstalk, or talk behind
cdef double ON_DEVIATIONS = 6.0  # speech starts this many mean deviations above the background ...
cdef double OFF_DEVIATIONS = 4.0  # ... and goes on above this many, ...
cdef double GREATEST_ON_DB = 9.0  # ... but at most this far above the background are required to start ...
cdef double GREATEST_OFF_DB = 3.0  # ... and this far to go on
cdef double ABOVE_FLOOR_DB = 15.0  # the average of voices in the background
cdef double FIRST_DEVIATION_DB = 1.0
cdef double LEAST_DEVIATION_DB = 0.1
cdef double GREATEST_DEVIATION_DB = 5.0
cdef double FIRST_TICKS = 20.0  # the first guess of the background has the weight of this many ticks
cdef double BACKGROUND_TICKS = 200.0  # time constant of the background without speech ...
cdef double BACKGROUND_TICKS_IN_SPEECH = 2000.0  # ... and in speech, so that varying noise does not stay speech
cdef double STEADY_DB = 6.0  # if no band varies by more at the start, the recording starts with noise
cdef double START_BELOW_DB = 25.0  # at any other start the background is taken to be so far below what is loudest, ...
cdef double START_ABOVE_LEAST_DB = 6.0  # ... this far above the least level so far, ...
cdef double START_DEVIATION_DB = 2.0  # ... and restless
cdef double HEARD_WHOLE_DB = 28.0  # if its loudest tick is this far above the background, speech is heard to its ends
cdef double HIDDEN_DB_PER_TICK = 5.0  # for each 5 dB less, noise hides one tick more at the start, and two at the end
cdef double NOISE_BELOW_VOICE_DB = 15.0  # comfort noise lies so far below the voice, ...
cdef double NOISE_ABOVE_FLOOR_DB = 25.0  # ... and so far above the floor; ...
cdef double COMMON_ABOVE_FLOOR_DB = 7.0  # ... where it is common, ...
cdef double COMMON = 0.1  # ... which is this share of the ticks that are near the floor or flat, this is enough
cdef double COMMON_TICKS = 200.0  # time constant of that share
cdef double NOISE_WEIGHT = 0.2  # of the newest flat tick in the levels of comfort noise, ...
cdef double OTHER_NOISE_DB = 6.0  # ... unless it is so far from them
cdef double LIKE_NOISE_DB = 3.0
cdef double INTO_NOISE_DB = 2.0  # above comfort noise, before it is flat
cdef double SEEMS_ABOVE_FLOOR_DB = 9.0


cdef void slide(Least *least, int64_t tick, double value) noexcept nogil:
    """The minimum over the last WINDOW_TICKS ticks."""
    put_least(least, tick, value)
    forget_before(least, tick - WINDOW_TICKS + 1)


@cython.final
cdef class EnergyDetector:
    """Voice activity by energy. The decision on tick n comes with the frame of tick n + 20, and is final.

    It depends on no later frame. Averaging does not bias start and end, because the band must also stand out in a
    single tick within 20 ms on either side. The less the loudest tick in 2 s stands out from the background, the more
    of the onset and decay of speech it hides: so up to 40 ms are added before speech, and up to 80 ms after it.
    """

    cdef FilterBank _bank
    cdef double[RING] _level
    cdef double[RING][BANDS] _power, _band, _smooth  # of single ticks: mean square, dBFS; averaged, dBFS
    cdef Least[BANDS] _floor
    cdef Least _peak  # of the negated level
    cdef double[BANDS] _mean, _deviation, _on, _off
    cdef double _learned_ticks
    cdef bint[RING] _active
    cdef bint[RING] _flat
    cdef double[RING] _flat_level  # of the last flat stretch that holds the tick
    cdef double[BANDS] _noise  # the levels of the last comfort noise
    cdef bint _knows_noise, _voiced
    cdef double _common, _voice, _greatest_floor
    cdef bint _speaking, _in_range
    cdef bint _ended
    cdef int64_t _ticks

    delay_ticks = DELAY_TICKS
    settings = {
        "bands_hz": edges_hz,
        "window_ticks": WINDOW_TICKS,
        "on_deviations": ON_DEVIATIONS,
        "off_deviations": OFF_DEVIATIONS,
        "range_db": RANGE_DB,
        "fading_range_db": FADING_RANGE_DB,
        "noise_below_voice_db": NOISE_BELOW_VOICE_DB,
        "far_below_db": FAR_BELOW_DB,
    }

    def __cinit__(self):
        design_bank(&self._bank)
        memset(&self._peak, 0, sizeof(self._peak))
        memset(self._floor, 0, sizeof(self._floor))
        self._voice, self._voiced, self._knows_noise, self._common = SILENCE_DB, False, False, 0.0
        self._learned_ticks = FIRST_TICKS
        self._speaking = self._in_range = self._ended = False
        self._ticks = 0

    @cython.critical_section
    def push(self, frame):
        """Take the frame of tick n, int16 (480,); return whether tick n - 20 is active (False while that is below 0).

        Raises FrameError for any other frame, or after `finish`.
        """
        cdef int16_t[FRAME] samples
        take_frame(frame, samples)
        if self._ended:
            raise FrameError("frame: expected none after finish(), got one more")
        cdef int64_t tick = self._ticks
        self._measure(samples)
        self._ticks += 1
        self._advance(tick)
        return tick >= DELAY_TICKS and self._active[(tick - DELAY_TICKS) & (RING - 1)]

    @cython.critical_section
    def finish(self):
        """The activity of the last 20 ticks (fewer if fewer were pushed). It ends the stream."""
        active = []
        if not self._ended:
            for tick in range(self._ticks, self._ticks + DELAY_TICKS):
                self._advance(tick)
                if tick >= DELAY_TICKS:
                    active.append(bool(self._active[(tick - DELAY_TICKS) & (RING - 1)]))
        self._ended = True
        return active

    @property
    @cython.critical_section
    def level_dbfs(self):
        """RMS level of the last tick above 80 Hz in dBFS (a constant at full scale is 0); -120 without sound."""
        return self._level[(self._ticks - 1) & (RING - 1)] if self._ticks else SILENCE_DB

    @property
    @cython.critical_section
    def band_levels_dbfs(self):
        """The same for 80-1000, 1000-4000 and 4000-8000 Hz."""
        cdef int64_t slot = (self._ticks - 1) & (RING - 1)
        return tuple([self._band[slot][band] if self._ticks else SILENCE_DB for band in range(BANDS)])

    @property
    @cython.critical_section
    def seems_active(self):
        """True if the newest tick is as loud as speech: near the side's voice, and well above the floor of one band."""
        cdef int64_t slot = (self._ticks - 1) & (RING - 1)
        cdef double least_db = FORMAT_DB
        cdef int band
        if self._ticks <= DECISION_TICKS:
            return False
        if self._voiced:
            least_db = max(least_db, self._voice - FAR_BELOW_DB)
        if self._level[slot] < least_db:
            return False
        for band in range(BANDS):
            if self._band[slot][band] >= self._floor[band].value[self._floor[band].first] + SEEMS_ABOVE_FLOOR_DB:
                return True
        return False

    cdef void _measure(self, const int16_t *frame) noexcept nogil:
        cdef int64_t slot = self._ticks & (RING - 1)
        cdef int band
        if self._ticks == 0:  # as if the first sample had always been there, so that a DC offset makes no step
            self._bank.x1 = self._bank.x2 = frame[0]
        self._level[slot] = decibels(filter_frame(&self._bank, frame, self._power[slot]))
        for band in range(BANDS):
            self._band[slot][band] = decibels(self._power[slot][band])
            if self._band[slot][band] <= SILENCE_DB:
                self._power[slot][band] = 0.0
        self._active[slot] = self._flat[slot] = False
        if self._ticks >= FLAT_TICKS - 1:
            self._find_flat(self._ticks - FLAT_TICKS + 1)
        slide(&self._peak, self._ticks, -self._level[slot])

    cdef void _find_flat(self, int64_t first) noexcept nogil:
        """Mark the FLAT_TICKS ticks from `first` on if neither the level nor any band changes in them."""
        cdef double mean
        cdef int64_t tick
        cdef int band
        for band in range(BANDS):
            if not is_flat(&self._band[0][band], BANDS, first, FLAT_TICKS, RING, FLAT_DB, &mean):
                return
        if not is_flat(&self._level[0], 1, first, FLAT_TICKS, RING, FLAT_DB, &mean):
            return
        for tick in range(first, first + FLAT_TICKS):
            self._flat[tick & (RING - 1)] = True
            self._flat_level[tick & (RING - 1)] = mean

    cdef void _advance(self, int64_t tick) noexcept nogil:
        """Do the steps that `tick` makes possible. At the end of the stream, `tick` may lie beyond the last one."""
        if SMOOTH_TICKS <= tick < self._ticks + SMOOTH_TICKS:
            self._average(tick - SMOOTH_TICKS)
        if tick == DECISION_TICKS:
            self._start_background(min(tick - SMOOTH_TICKS, self._ticks - 1))
        elif DECISION_TICKS < tick < self._ticks + SMOOTH_TICKS:
            self._slide_floors(tick - SMOOTH_TICKS)
        if DECISION_TICKS <= tick < self._ticks + DECISION_TICKS:
            self._judge(tick - DECISION_TICKS)

    cdef void _average(self, int64_t tick) noexcept nogil:
        cdef int64_t first = max(tick - SMOOTH_TICKS, 0), last = min(tick + SMOOTH_TICKS, self._ticks - 1), other
        cdef double power
        cdef int band
        for band in range(BANDS):
            power = 0.0
            for other in range(first, last + 1):
                power += self._power[other & (RING - 1)][band]
            self._smooth[tick & (RING - 1)][band] = decibels(power / (last - first + 1))

    cdef void _start_background(self, int64_t last) noexcept nogil:
        """Guess the background from ticks 0 to `last`, and start the floors as if the 2 s before had been no louder."""
        cdef double[BANDS] least
        cdef double greatest, total, loudest = SILENCE_DB, start
        cdef bint steady = True
        cdef int64_t tick, first = min(SMOOTH_TICKS + 1, last)  # the filters start in tick 0, which is louder by that
        cdef int band
        for band in range(BANDS):
            least[band] = greatest = self._smooth[first][band]
            total = 0.0
            for tick in range(first, last + 1):
                least[band] = min(least[band], self._smooth[tick][band])
                greatest = max(greatest, self._smooth[tick][band])
                total += self._smooth[tick][band]
            self._mean[band] = total / (last + 1 - first)
            self._deviation[band] = FIRST_DEVIATION_DB
            steady = steady and max(greatest, FORMAT_DB) - max(least[band], FORMAT_DB) < STEADY_DB
            loudest = max(loudest, greatest)
        for band in range(BANDS):
            if not steady:
                start = loudest - START_BELOW_DB
                self._mean[band] = min(least[band] + START_ABOVE_LEAST_DB, start)
                self._deviation[band] = START_DEVIATION_DB
                least[band] = min(least[band], start)
            slide(&self._floor[band], -1, least[band])
        for tick in range(last + 1):
            self._slide_floors(tick)

    cdef void _slide_floors(self, int64_t tick) noexcept nogil:
        cdef int band
        for band in range(BANDS):
            slide(&self._floor[band], tick, self._smooth[tick & (RING - 1)][band])

    cdef void _judge(self, int64_t tick) noexcept nogil:
        """Decide whether `tick` is speech, mark the ticks that this makes active, and learn the background."""
        cdef double peak = -self._peak.value[self._peak.first]
        cdef double background = SILENCE_DB, floor, level, least_db
        cdef bint fades, other_sound
        cdef int64_t hidden, other
        cdef int band
        self._greatest_floor = SILENCE_DB
        least_db = max(FORMAT_DB, peak - FADING_RANGE_DB - BAND_BELOW_DB)
        for band in range(BANDS):
            floor = self._floor[band].value[self._floor[band].first]
            self._greatest_floor = max(self._greatest_floor, floor)
            self._mean[band] = max(floor, min(self._mean[band], floor + ABOVE_FLOOR_DB))
            self._on[band] = self._mean[band] + min(ON_DEVIATIONS * self._deviation[band], GREATEST_ON_DB)
            self._off[band] = self._mean[band] + min(OFF_DEVIATIONS * self._deviation[band], GREATEST_OFF_DB)
            self._on[band] = max(self._on[band], least_db)
            self._off[band] = max(self._off[band], least_db)
            background = max(background, self._mean[band])
        other_sound = self._is_noise(tick) or not self._is_near(tick)
        self._speaking = not other_sound and self._stands_out(self._smooth[tick & (RING - 1)], self._off) and (
            self._speaking or self._starts(tick)
        )
        level = self._level[tick & (RING - 1)]
        fades = self._in_range and level < self._level[(tick - 1) & (RING - 1)]
        least_db = max(FORMAT_DB, peak - RANGE_DB)
        if fades or self._rises(tick, least_db):
            least_db = max(FORMAT_DB, peak - FADING_RANGE_DB)
        self._in_range = self._speaking and level >= least_db
        if self._in_range and self._sharp(tick):
            self._voice = followed_voice(self._voice, level, FAR_BELOW_DB) if self._voiced else level
            self._voiced = True
            hidden = <int64_t>max(0.0, (HEARD_WHOLE_DB - (peak - background)) / HIDDEN_DB_PER_TICK)
            hidden = min(hidden, LEAD_TICKS)
            for other in range(max(tick - hidden, 0), tick + 2 * hidden + 1):
                self._active[other & (RING - 1)] = True
        self._learn(tick)

    cdef bint _is_near(self, int64_t tick) noexcept nogil:
        """True if what is heard around `tick` is as loud as the side's own voice."""
        cdef int64_t other
        if not self._voiced:
            return True
        for other in range(max(tick - ABOUT_TICKS, 0), min(tick + DECISION_TICKS, self._ticks - 1) + 1):
            if self._level[other & (RING - 1)] > self._voice - FAR_BELOW_DB:
                return True
        return False

    cdef bint _is_noise(self, int64_t tick) noexcept nogil:
        """True if `tick` is comfort noise, or the noise of a gate; learn it."""
        cdef int64_t at = self._flat_from(tick)
        cdef int64_t slot = (tick if at < 0 else at) & (RING - 1)
        cdef double above_db = SILENCE_DB
        cdef bint flat = at >= 0 and self._flat_level[slot] < self._voice - NOISE_BELOW_VOICE_DB
        cdef int band
        if not self._voiced:
            return False
        for band in range(BANDS):
            above_db = max(above_db, (self._smooth[slot][band] if at < 0 else self._band[slot][band]) - self._greatest_floor)
        if at <= tick and (flat or above_db <= COMMON_ABOVE_FLOOR_DB):
            self._common += ((1.0 if above_db > COMMON_ABOVE_FLOOR_DB else 0.0) - self._common) / COMMON_TICKS
        if above_db <= NOISE_ABOVE_FLOOR_DB and self._common <= COMMON:
            return False
        if flat and above_db > COMMON_ABOVE_FLOOR_DB:
            if at == tick:
                self._learn_noise(tick)
            return True
        return self._is_like_noise(tick)

    cdef int64_t _flat_from(self, int64_t tick) noexcept nogil:
        """`tick` if it is flat; else the flat tick that the sound soon comes to without being louder; -1 if none."""
        cdef int64_t flat = tick, other
        while not self._flat[flat & (RING - 1)]:
            flat += 1
            if flat > min(tick + ONSET_TICKS, self._ticks - 1):
                return -1
        if flat > tick and self._active[(tick - 1) & (RING - 1)]:
            return -1
        for other in range(tick, flat):
            if self._level[other & (RING - 1)] >= self._flat_level[flat & (RING - 1)] + INTO_NOISE_DB:
                return -1
        return flat

    cdef void _learn_noise(self, int64_t tick) noexcept nogil:
        cdef double away
        cdef int band
        for band in range(BANDS):
            away = self._band[tick & (RING - 1)][band] - self._noise[band]
            self._noise[band] += away * (NOISE_WEIGHT if self._knows_noise and fabs(away) <= OTHER_NOISE_DB else 1.0)
        self._knows_noise = True

    cdef bint _is_like_noise(self, int64_t tick) noexcept nogil:
        cdef int band
        for band in range(BANDS):
            if fabs(self._smooth[tick & (RING - 1)][band] - self._noise[band]) >= LIKE_NOISE_DB:
                return False
        return self._knows_noise

    cdef bint _rises(self, int64_t tick, double start_db) noexcept nogil:
        """True if the level rises from tick to tick until it reaches `start_db`, within the ticks known so far."""
        cdef int64_t other
        for other in range(tick + 1, min(tick + DECISION_TICKS, self._ticks - 1) + 1):
            if self._level[other & (RING - 1)] <= self._level[(other - 1) & (RING - 1)]:
                return False
            if self._level[other & (RING - 1)] >= start_db:
                return True
        return False

    cdef bint _stands_out(self, const double *levels, const double *thresholds) noexcept nogil:
        cdef int band
        for band in range(BANDS):
            if levels[band] >= thresholds[band]:
                return True
        return False

    cdef bint _starts(self, int64_t tick) noexcept nogil:
        """True if the level reaches the threshold for a start, without falling back, within the ticks known so far."""
        cdef int64_t other
        for other in range(tick, min(tick + DECISION_TICKS - SMOOTH_TICKS, self._ticks - 1) + 1):
            if self._stands_out(self._smooth[other & (RING - 1)], self._on):
                return True
            if not self._stands_out(self._smooth[other & (RING - 1)], self._off):
                return False
        return False

    cdef bint _sharp(self, int64_t tick) noexcept nogil:
        """True if a single tick stands out too, both among the averaged ticks before and among those after."""
        cdef bint before = False, after = False
        cdef int64_t other
        for other in range(max(tick - SMOOTH_TICKS, 0), tick + 1):
            before = before or self._stands_out(self._band[other & (RING - 1)], self._off)
        for other in range(tick, min(tick + SMOOTH_TICKS, self._ticks - 1) + 1):
            after = after or self._stands_out(self._band[other & (RING - 1)], self._off)
        return before and after

    cdef void _learn(self, int64_t tick) noexcept nogil:
        cdef double away, deviation, ticks = BACKGROUND_TICKS_IN_SPEECH
        cdef int band
        if not self._speaking:
            self._learned_ticks = ticks = min(self._learned_ticks + 1.0, BACKGROUND_TICKS)
        for band in range(BANDS):
            deviation = self._deviation[band]
            away = self._smooth[tick & (RING - 1)][band] - self._mean[band]
            if self._speaking:  # limit the influence of speech: background would not lie further away
                away = max(min(away, 2.0 * deviation), -2.0 * deviation)
            self._mean[band] += away / ticks
            deviation += (fabs(away) - deviation) / ticks
            self._deviation[band] = min(max(deviation, LEAST_DEVIATION_DB), GREATEST_DEVIATION_DB)
