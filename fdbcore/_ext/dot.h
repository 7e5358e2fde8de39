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

#if defined(__x86_64__)
/* With AVX2, eight windows lie side by side in a register, and each lane of their sums has one of its own: the products
 * and the order are those of fdb_dots. Windows that are not one float apart are first dealt out, every `window_step`th
 * float into a row of its own, which takes longer than it saves if they are far apart. */
enum { FDB_SIDE_BY_SIDE = 8, FDB_DEALT_WINDOWS = 256, FDB_MOST_DEALT_STEP = 6, FDB_MOST_DEALT_TAPS = 288 };
#define FDB_AVX2 __attribute__((target("avx2")))

typedef float fdb_eight __attribute__((vector_size(32)));
typedef int32_t fdb_eight_ints __attribute__((vector_size(32)));

FDB_AVX2 static inline fdb_eight fdb_load_eight(const float *from) {
    fdb_eight lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

FDB_AVX2 static inline fdb_eight fdb_select_eight(fdb_eight_ints chosen, fdb_eight yes, fdb_eight no) {
    return (fdb_eight)((chosen & (fdb_eight_ints)yes) | (~chosen & (fdb_eight_ints)no));
}

/* As fdb_to_int16: adding 1.5 * 2^23 rounds half to even. */
FDB_AVX2 static inline void fdb_put_eight(fdb_eight value, int16_t *out, ptrdiff_t out_step) {
    const fdb_eight least = (fdb_eight){0} - 32768.0f, most = (fdb_eight){0} + 32767.0f;
    const fdb_eight magic = (fdb_eight){0} + 12582912.0f;
    value = fdb_select_eight(value < least, least, value);
    value = fdb_select_eight(value > most, most, value);
    const fdb_eight_ints rounded = __builtin_convertvector((value + magic) - magic, fdb_eight_ints);
    for (int i = 0; i < FDB_SIDE_BY_SIDE; i++)
        out[i * out_step] = (int16_t)rounded[i];
}

/* Of `eights` times eight windows; tap t of the first is at rows[at[t]], and of each other one float further. Always
 * inlined with a constant `eights`, so that the sums of a lane live in registers. */
FDB_AVX2 __attribute__((always_inline)) static inline void fdb_dots_side_by_side(
    const int eights, const float *rows, const int32_t *at, const float *coefficients, ptrdiff_t taps,
    int16_t *out, ptrdiff_t out_step) {
    fdb_eight sums[4][4];
    for (int lane = 0; lane < 4; lane++) {
        fdb_eight sum[4] = {{0.0f}, {0.0f}, {0.0f}, {0.0f}};
        for (ptrdiff_t tap = lane; tap < taps; tap += 4) {
            const fdb_eight coefficient = (fdb_eight){0} + coefficients[tap];
            for (int i = 0; i < eights; i++)
                sum[i] += coefficient * fdb_load_eight(rows + at[tap] + i * FDB_SIDE_BY_SIDE);
        }
        for (int i = 0; i < eights; i++)
            sums[lane][i] = sum[i];
    }
    for (int i = 0; i < eights; i++) {
        const fdb_eight sum = (sums[0][i] + sums[1][i]) + (sums[2][i] + sums[3][i]);
        fdb_put_eight(sum, out + i * FDB_SIDE_BY_SIDE * out_step, out_step);
    }
}

/* Every `step`th of `count` floats into a row of its own; rows are `row` apart. */
FDB_AVX2 static inline void fdb_deal(const float *from, ptrdiff_t step, ptrdiff_t count, float *rows, ptrdiff_t row) {
    for (ptrdiff_t i = 0; i < step; i++)
        for (ptrdiff_t at = i, column = 0; at < count; at += step, column++)
            rows[i * row + column] = from[at];
}

/* fdb_filter for as many windows as eights hold; returns how many. */
FDB_AVX2 static ptrdiff_t fdb_filter_eights(
    const float *window, ptrdiff_t window_step, const float *coefficients, ptrdiff_t taps,
    int16_t *out, ptrdiff_t out_step, ptrdiff_t count) {
    float dealt[FDB_MOST_DEALT_STEP * (FDB_DEALT_WINDOWS + FDB_MOST_DEALT_TAPS)];
    int32_t at[FDB_MOST_DEALT_TAPS];
    const ptrdiff_t whole = count - count % FDB_SIDE_BY_SIDE, row = FDB_DEALT_WINDOWS + taps / window_step + 1;
    for (ptrdiff_t tap = 0, i = 0, column = 0; tap < taps; tap++) {
        at[tap] = (int32_t)(i * row + column);
        if (++i == window_step)
            i = 0, column++;
    }
    for (ptrdiff_t done = 0, windows; done < whole; done += windows) {
        windows = whole - done < FDB_DEALT_WINDOWS ? whole - done : FDB_DEALT_WINDOWS;
        const float *rows = window + done * window_step;
        if (window_step > 1) {
            fdb_deal(rows, window_step, (windows - 1) * window_step + taps, dealt, row);
            rows = dealt;
        }
        ptrdiff_t i = 0;
        for (; i + 4 * FDB_SIDE_BY_SIDE <= windows; i += 4 * FDB_SIDE_BY_SIDE)
            fdb_dots_side_by_side(4, rows + i, at, coefficients, taps, out + (done + i) * out_step, out_step);
        for (; i < windows; i += FDB_SIDE_BY_SIDE)
            fdb_dots_side_by_side(1, rows + i, at, coefficients, taps, out + (done + i) * out_step, out_step);
    }
    return whole;
}
#endif

/* fdb_dots for any number of windows; `taps` is a multiple of 4. most_lanes: use no more than the 4 or 8 floats of a
 * vector register. */
static inline void fdb_filter(
    const float *window, ptrdiff_t window_step, const float *coefficients, ptrdiff_t taps,
    int16_t *out, ptrdiff_t out_step, ptrdiff_t count, int most_lanes) {
#if defined(__x86_64__)
    const int dealt = window_step <= FDB_MOST_DEALT_STEP && taps <= FDB_MOST_DEALT_TAPS;
    if (dealt && most_lanes >= 8 && __builtin_cpu_supports("avx2")) {
        const ptrdiff_t done = fdb_filter_eights(window, window_step, coefficients, taps, out, out_step, count);
        window += done * window_step, out += done * out_step, count -= done;
    }
#endif
    (void)most_lanes;
    for (; count >= 4; count -= 4, window += 4 * window_step, out += 4 * out_step)
        fdb_dots(4, window, window_step, coefficients, taps, out, out_step);
    switch (count) {
        case 3: fdb_dots(3, window, window_step, coefficients, taps, out, out_step); break;
        case 2: fdb_dots(2, window, window_step, coefficients, taps, out, out_step); break;
        case 1: fdb_dots(1, window, window_step, coefficients, taps, out, out_step); break;
    }
}

#endif
