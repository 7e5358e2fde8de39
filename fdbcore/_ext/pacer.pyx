"""Waits for ticks at absolute deadlines, without the GIL, and measures how well the deadlines were kept."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.number cimport PyNumber_Index
from cython cimport critical_section, final
from libc.math cimport ceil
from libc.stdint cimport INT64_MAX, int64_t, uint64_t

import os
import sys
from contextlib import contextmanager

from fdbcore.errors import InputError, SettingsError

cdef extern from * nogil:
    """
    #include <errno.h>
    #include <stdint.h>
    #include <time.h>

    /* FDB_CLOCK stands still while the machine is suspended, FDB_SUSPEND_CLOCK runs on. */
    #if defined(__linux__)
    #include <sys/prctl.h>
    #define FDB_CLOCK CLOCK_MONOTONIC
    #define FDB_SUSPEND_CLOCK CLOCK_BOOTTIME
    #elif defined(__APPLE__)
    #define FDB_CLOCK CLOCK_UPTIME_RAW
    #define FDB_SUSPEND_CLOCK CLOCK_MONOTONIC_RAW
    #else
    #define FDB_CLOCK CLOCK_MONOTONIC
    #define FDB_SUSPEND_CLOCK CLOCK_MONOTONIC
    #endif

    static int64_t fdb_read_clock(clockid_t id) {
        struct timespec now;
        clock_gettime(id, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }

    static int64_t fdb_now_ns(void) { return fdb_read_clock(FDB_CLOCK); }
    static int64_t fdb_suspend_clock_ns(void) { return fdb_read_clock(FDB_SUSPEND_CLOCK); }
    static int64_t fdb_wall_clock_ns(void) { return fdb_read_clock(CLOCK_REALTIME); }

    /* May return early: for a signal, and where only a relative sleep exists. */
    static void fdb_sleep_until(int64_t until_ns) {
    #if defined(__linux__)
        struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
        clock_nanosleep(FDB_CLOCK, TIMER_ABSTIME, &until, NULL);
    #else
        int64_t left_ns = until_ns - fdb_now_ns();
        struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};
        if (left_ns > 0) nanosleep(&left, NULL);
    #endif
    }

    static void fdb_relax_cpu(void) {
    #if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
    #elif defined(__aarch64__)
        __asm__ __volatile__("yield");
    #endif
    }

    /* Of the calling thread; -1 where the system has no such thing. */
    static int64_t fdb_timer_slack_ns(void) {
    #if defined(__linux__)
        return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    #else
        return -1;
    #endif
    }

    static void fdb_set_timer_slack(int64_t slack_ns) {
    #if defined(__linux__)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns, 0, 0, 0);
    #endif
    }

    static int fdb_bit_length(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }
    """
    int64_t fdb_now_ns()
    int64_t fdb_suspend_clock_ns()
    int64_t fdb_wall_clock_ns()
    void fdb_sleep_until(int64_t until_ns)
    void fdb_relax_cpu()
    int64_t fdb_timer_slack_ns()
    void fdb_set_timer_slack(int64_t slack_ns)
    int fdb_bit_length(uint64_t value)

cdef enum:
    MAX_LATE = 5
    # 32 buckets an octave: none is wider than 1/32 of its lower edge, so its middle is at most 1/64 off.
    OCTAVE_BITS = 5
    BUCKETS = 1888  # of one sign: magnitudes 0 to 2**63 - 1
    WATCH_TICKS = 100
    FIFO_PRIORITY = 50

cdef int64_t SLICE_NS = 100_000_000  # a signal that comes just before the sleep is noticed only after the sleep
cdef int64_t STEP_NS = 5_000_000
cdef int64_t READING_NS = 1_000_000
cdef int64_t SPIN_MAX_NS = 10_000_000  # spinning, the thread does not notice signals

MAX_LATE_TICKS = MAX_LATE


cdef int64_t whole(str name, value) except? -1:
    """`value` as a 64-bit integer. Cython itself would silently turn 1.5 into 1."""
    try:
        return PyNumber_Index(value)
    except (TypeError, OverflowError):
        raise InputError(f"{name}: expected a whole number of at most 64 bits, got {value!r}") from None


@final
cdef class LatenessHistogram:
    """The distribution of lateness in ns; negative means early. All memory (30 kB) is allocated at the start.

    The buckets are log-spaced, so quantiles are off by at most 1.6 %; n, the smallest and the largest are exact.
    """

    cdef uint64_t counts[2 * BUCKETS]
    cdef readonly uint64_t n
    cdef int64_t min_ns
    cdef int64_t max_ns

    @critical_section
    def record(self, lateness_ns):
        """Count one lateness, in ns; InputError unless it is a whole number of at most 64 bits."""
        self.add(whole("lateness_ns", lateness_ns))

    cdef void add(self, int64_t lateness_ns) noexcept nogil:
        self.min_ns = lateness_ns if self.n == 0 else min(self.min_ns, lateness_ns)
        self.max_ns = lateness_ns if self.n == 0 else max(self.max_ns, lateness_ns)
        self.counts[bucket_of(lateness_ns)] += 1
        self.n += 1

    @critical_section
    def quantile(self, double q):
        """The smallest lateness (ns) that at least a share `q` of the records does not exceed; None without records.

        The definition that NumPy calls `inverted_cdf`; exact at the smallest and the largest record. SettingsError
        unless 0 <= q <= 1.
        """
        if not 0.0 <= q <= 1.0:
            raise SettingsError(f"q: expected 0 to 1, got {q}")
        return self.quantile_ns(q)

    cdef quantile_ns(self, double q):
        return None if self.n == 0 else self.nth(<uint64_t> max(1.0, ceil(q * self.n)))

    cdef int64_t nth(self, uint64_t rank) noexcept nogil:
        if rank == 1:
            return self.min_ns
        if rank >= self.n:
            return self.max_ns
        cdef int bucket = -1
        cdef uint64_t seen = 0
        while seen < rank:
            bucket += 1
            seen += self.counts[bucket]
        return max(self.min_ns, min(self.max_ns, middle_of(bucket)))

    @critical_section
    def summary(self):
        """n, and in us: min_us, p50_us, p99_us, p99_9_us, max_us (None each without records)."""
        shares = {"min_us": 0.0, "p50_us": 0.5, "p99_us": 0.99, "p99_9_us": 0.999, "max_us": 1.0}
        return {"n": self.n} | {name: to_us(self.quantile_ns(q)) for name, q in shares.items()}


cdef to_us(ns):
    return None if ns is None else ns / 1000


cdef int bucket_of(int64_t lateness_ns) noexcept nogil:
    cdef uint64_t magnitude = lateness_ns if lateness_ns >= 0 else -max(lateness_ns, -INT64_MAX)
    cdef int shift = max(0, fdb_bit_length(magnitude) - OCTAVE_BITS - 1)
    cdef int index = (shift << OCTAVE_BITS) + <int> (magnitude >> shift)
    return BUCKETS - 1 - index if lateness_ns < 0 else BUCKETS + index


cdef int64_t middle_of(int bucket) noexcept nogil:
    cdef int index = BUCKETS - 1 - bucket if bucket < BUCKETS else bucket - BUCKETS
    cdef int shift = max(0, (index >> OCTAVE_BITS) - 1)
    cdef int64_t low = <int64_t> (index - (shift << OCTAVE_BITS)) << shift
    cdef int64_t middle = low + ((<int64_t> 1 << shift) - 1) // 2
    return -middle if bucket < BUCKETS else middle


@final
cdef class ClockWatch:
    """Notices suspends of the machine and steps of its wall clock from readings of its clocks, taken now and then.

    `suspends` and `clock_steps` are lists of {"tick", "ms"}: the tick at which it was seen, and how far the clock
    jumped. Up to 5 ms may be a disturbed reading; smaller jumps add up until they are noticed.
    """

    cdef readonly list suspends
    cdef readonly list clock_steps
    cdef bint started
    cdef int64_t suspended_ns
    cdef int64_t wall_ns

    def __cinit__(self):
        self.suspends = []
        self.clock_steps = []

    @critical_section
    def observe(self, int64_t tick, int64_t monotonic_ns, int64_t suspend_clock_ns, int64_t wall_clock_ns):
        """Compare a reading of three clocks (ns) with the first one: the clock that stands still in a suspend, the one
        that runs on, and the wall clock. A step is one against the clock that runs on: a suspend alone is none.
        """
        cdef int64_t suspended_ns = suspend_clock_ns - monotonic_ns
        cdef int64_t wall_ns = wall_clock_ns - suspend_clock_ns
        if not self.started:
            self.started, self.suspended_ns, self.wall_ns = True, suspended_ns, wall_ns
        if suspended_ns - self.suspended_ns > STEP_NS:
            self.suspends.append({"tick": tick, "ms": (suspended_ns - self.suspended_ns) / 1e6})
            self.suspended_ns = suspended_ns
        if not -STEP_NS <= wall_ns - self.wall_ns <= STEP_NS:
            self.clock_steps.append({"tick": tick, "ms": (wall_ns - self.wall_ns) / 1e6})
            self.wall_ns = wall_ns

    cdef read(self, int64_t tick):
        cdef int64_t before_ns, suspend_clock_ns, wall_clock_ns
        for _ in range(3):
            before_ns = fdb_now_ns()
            suspend_clock_ns = fdb_suspend_clock_ns()
            wall_clock_ns = fdb_wall_clock_ns()
            # The clocks cannot be read at one instant: a thread that is put aside in between would see a jump.
            if fdb_now_ns() - before_ns < READING_NS:
                self.observe(tick, before_ns, suspend_clock_ns, wall_clock_ns)
                return


@final
cdef class Pacer:
    """Waits for ticks at absolute deadlines: `origin_ns + tick * period_ns` on the clock of time.monotonic_ns.

    Tick 0 is the moment of the first `wait`, not of the construction: what has to be ready before tick 0 (connections,
    models) is made ready in between, and must not make the first ticks late.

    period_ns: 1,000 ns to one hour. spin_ns: the thread sleeps until so many ns before a deadline, then it spins, which
    costs up to spin_ns / period_ns of a core and hides the kernel's wake-up time; 0 (off) when several sessions share a
    process; at most 10 ms and period_ns. SettingsError outside these ranges.

    A tick is *overdue* by the number of whole periods between its deadline and the return of `wait`; by 0 it is within
    its own period. Overdue by 1 to MAX_LATE_TICKS (5) counts as late: its work is still to be done, at once and with
    its own timestamp, and the ticks behind it follow without waiting. Overdue by more counts as missed: too late for a
    transport leg, which skips it (silence on both sides). The pacer counts; the caller decides by what `wait` returns,
    as a party that is a function of the tick is stepped for every tick, however late.

    One thread waits. Linux sleeps with clock_nanosleep to the absolute time; other systems with repeated relative
    sleeps, which are written to compile on macOS but have not been tested there.
    """

    cdef readonly int64_t period_ns
    cdef readonly int64_t spin_ns
    cdef readonly object priority
    cdef int64_t _origin_ns
    cdef uint64_t late
    cdef uint64_t missed
    cdef int64_t last_tick
    cdef int64_t watch_tick
    cdef LatenessHistogram wake
    cdef LatenessHistogram resume
    cdef ClockWatch watch

    def __cinit__(self, period_ns=10_000_000, spin_ns=300_000):
        self.period_ns = whole("period_ns", period_ns)
        self.spin_ns = whole("spin_ns", spin_ns)
        if not 1_000 <= self.period_ns <= 3_600_000_000_000:
            raise SettingsError(f"period_ns: expected 1000 to 3600000000000, got {period_ns}")
        cdef int64_t spin_max_ns = min(self.period_ns, SPIN_MAX_NS)
        if not 0 <= self.spin_ns <= spin_max_ns:
            raise SettingsError(f"spin_ns: expected 0 to {spin_max_ns}, got {spin_ns}")
        self.last_tick = -1
        self.wake = LatenessHistogram()
        self.resume = LatenessHistogram()
        self.watch = ClockWatch()

    @property
    @critical_section
    def origin_ns(self):
        """Deadline of tick 0 on the monotonic clock, ns; None before the first `wait`."""
        return self._origin_ns or None

    @critical_section
    def deadline_ns(self, tick):
        """Deadline of `tick` on the monotonic clock, ns.

        InputError before the first `wait`, and for a tick below 0 or after the end of 64-bit time.
        """
        if self._origin_ns == 0:
            raise InputError("deadline_ns: expected a first wait(), which sets tick 0, got none yet")
        return self.deadline_from(self._origin_ns, whole("tick", tick))

    cdef int64_t deadline_from(self, int64_t origin_ns, int64_t tick) except -1:
        cdef int64_t tick_max = (INT64_MAX - origin_ns) // self.period_ns
        if not 0 <= tick <= tick_max:
            raise InputError(f"tick: expected 0 to {tick_max}, got {tick}")
        return origin_ns + tick * self.period_ns

    @critical_section
    def wait(self, tick):
        """Sleep until `tick` is due, and return by how many whole periods it is overdue (int).

        Returns at once if the deadline has passed. Ticks may be skipped, but not repeated: InputError unless `tick` is
        greater than the last one. If a signal handler raises (Ctrl-C), the error goes through, and the tick is not
        counted. The GIL is released only to wait: if another Python thread is busy, getting it back takes milliseconds,
        which overdue ticks do not have.
        """
        cdef int64_t number = whole("tick", tick)
        if number <= self.last_tick:
            raise InputError(f"tick: expected at least {self.last_tick + 1}, the next one, got {number}")
        cdef int64_t woke_ns = fdb_now_ns()
        cdef int64_t origin_ns = self._origin_ns or woke_ns
        cdef int64_t deadline_ns = self.deadline_from(origin_ns, number)
        self._origin_ns = origin_ns
        while woke_ns < deadline_ns:
            with nogil:
                woke_ns = sleep_and_spin(deadline_ns, self.spin_ns)
            if woke_ns < deadline_ns:
                PyErr_CheckSignals()
        cdef int64_t resumed_ns = fdb_now_ns()
        self.last_tick = number
        if number >= self.watch_tick:
            self.watch.read(number)
            self.watch_tick = number + WATCH_TICKS
        return self.count(woke_ns - deadline_ns, resumed_ns - deadline_ns)

    cdef int64_t count(self, int64_t wake_lateness_ns, int64_t resume_lateness_ns) noexcept:
        cdef int64_t overdue_ticks = resume_lateness_ns // self.period_ns
        self.wake.add(wake_lateness_ns)
        self.resume.add(resume_lateness_ns)
        self.late += 1 <= overdue_ticks <= MAX_LATE
        self.missed += overdue_ticks > MAX_LATE
        return overdue_ticks

    @critical_section
    def lateness(self):
        """Measurements so far, as JSON values.

        wake: the lateness when the wait was over (without the GIL). resume: the lateness when Python went on (with the
        GIL). Both have n, min_us, p50_us, p99_us, p99_9_us and max_us. A busy Python thread keeps the GIL for up to
        sys.getswitchinterval() (5 ms), which only shows in resume. late, missed: numbers of ticks. suspends,
        clock_steps: lists of {"tick", "ms"}; they are looked for every 100 ticks.
        """
        return {
            "wake": self.wake.summary(),
            "resume": self.resume.summary(),
            "late": self.late,
            "missed": self.missed,
            "suspends": [dict(seen) for seen in self.watch.suspends],
            "clock_steps": [dict(seen) for seen in self.watch.clock_steps],
        }

    @contextmanager
    def raised_priority(self):
        """Ask for real-time priority and 1 ns of timer slack for the calling thread, as long as the `with` block lasts.

        Yields a report of what was granted, as JSON values; it is also stored as `priority`: {"fifo": {"granted",
        "priority", "why_not"}, "timer_slack": {"granted", "ns", "why_not"}}. A refusal is not an error. Threads and
        processes that the thread starts do not inherit the priority. Leaving the block restores the old settings.
        """
        cdef int64_t slack_before_ns = fdb_timer_slack_ns()
        # The slack goes first: the kernel does not change it for a real-time thread.
        fdb_set_timer_slack(1)
        policy_before, fifo = ask_for_fifo()
        self.priority = {"fifo": fifo, "timer_slack": timer_slack_report()}
        try:
            yield self.priority
        finally:
            restore_policy(policy_before)
            fdb_set_timer_slack(slack_before_ns)


cdef int64_t sleep_and_spin(int64_t deadline_ns, int64_t spin_ns) noexcept nogil:
    """Sleep, then spin, until the deadline; return the time.

    It may return before the deadline, after a signal or a slice of sleep, so that the caller can handle signals.
    """
    cdef int64_t now_ns = fdb_now_ns()
    cdef int64_t asleep_until_ns = deadline_ns - spin_ns
    if now_ns < asleep_until_ns:
        fdb_sleep_until(min(asleep_until_ns, now_ns + SLICE_NS))
        now_ns = fdb_now_ns()
        if now_ns < asleep_until_ns:
            return now_ns
    while now_ns < deadline_ns:
        fdb_relax_cpu()
        now_ns = fdb_now_ns()
    return now_ns


cdef dict timer_slack_report():
    slack_ns = fdb_timer_slack_ns()
    if slack_ns < 0:
        return {"granted": False, "ns": None, "why_not": f"{sys.platform} has no timer slack"}
    granted = slack_ns <= 1
    return {"granted": granted, "ns": slack_ns, "why_not": None if granted else "the system did not take the setting"}


cdef tuple ask_for_fifo():
    """Ask for SCHED_FIFO. Return the old policy and parameters (None if nothing changed), and a report."""
    if not hasattr(os, "sched_setscheduler"):
        return None, {"granted": False, "priority": None, "why_not": f"{sys.platform} has no SCHED_FIFO"}
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    # If the user has given the thread a higher priority, keep that.
    priority = max(FIFO_PRIORITY, before[1].sched_priority)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as error:
        why_not = f"{error.strerror}: SCHED_FIFO {priority} needs CAP_SYS_NICE or a higher ulimit -r"
        return None, {"granted": False, "priority": None, "why_not": why_not}
    return before, {"granted": True, "priority": priority, "why_not": None}


cdef restore_policy(tuple before):
    if before is None:
        return
    policy, parameters = before
    try:
        os.sched_setscheduler(0, policy, parameters)
    except PermissionError:
        # Without the privilege a thread cannot clear SCHED_RESET_ON_FORK, so it stays set.
        os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, parameters)
