/* Dot products of filters between sample rates, in compiler vector types: compilers do not vectorise a plain sum of
 * floats, because that would change its order. The order here is fixed: lane i adds the products of taps i, i + 4,
 * i + 8, ..., then the lanes are added as (0 + 1) + (2 + 3). Built with -ffp-contract=off it gives the same bits on
 * every instruction set. */

#ifndef FDBCORE_DOT_H
#define FDBCORE_DOT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef float fdb_lanes __attribute__((vector_size(16)));

static inline fdb_lanes fdb_load(const float *from) {
    fdb_lanes lanes;
    memcpy(&lanes, from, sizeof lanes); /* one load instruction; windows are not aligned */
    return lanes;
}

/* Saturate and round; lrintf rounds half to even, the default mode of IEEE 754. */
static inline int16_t fdb_to_int16(float value) {
    value = value < -32768.0f ? -32768.0f : value;
    value = value > 32767.0f ? 32767.0f : value;
    return (int16_t)lrintf(value);
}

/* Dot products of `coefficients` with `count` windows that start `window_step` floats apart, rounded into every
 * `out_step`th place of `out`. Always inlined with a constant count, so that the sums live in registers: each
 * coefficient is loaded once for all windows, and the additions of one window hide the latency of the others'. */
__attribute__((always_inline)) static inline void fdb_dots(
    const int count, const float *window, ptrdiff_t window_step, const float *coefficients, ptrdiff_t taps,
    int16_t *out, ptrdiff_t out_step) {
    fdb_lanes sums[4] = {{0.0f}, {0.0f}, {0.0f}, {0.0f}};
    for (ptrdiff_t tap = 0; tap < taps; tap += 4) {
        const fdb_lanes coefficient = fdb_load(coefficients + tap);
        for (int i = 0; i < count; i++)
            sums[i] += coefficient * fdb_load(window + i * window_step + tap);
    }
    for (int i = 0; i < count; i++)
        out[i * out_step] = fdb_to_int16((sums[i][0] + sums[i][1]) + (sums[i][2] + sums[i][3]));
}

/* fdb_dots for any number of windows; `taps` is a multiple of 4. */
static inline void fdb_filter(
    const float *window, ptrdiff_t window_step, const float *coefficients, ptrdiff_t taps,
    int16_t *out, ptrdiff_t out_step, ptrdiff_t count) {
    for (; count >= 4; count -= 4, window += 4 * window_step, out += 4 * out_step)
        fdb_dots(4, window, window_step, coefficients, taps, out, out_step);
    switch (count) {
        case 3: fdb_dots(3, window, window_step, coefficients, taps, out, out_step); break;
        case 2: fdb_dots(2, window, window_step, coefficients, taps, out, out_step); break;
        case 1: fdb_dots(1, window, window_step, coefficients, taps, out, out_step); break;
    }
}

#endif
