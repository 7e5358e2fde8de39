/* Fourier transforms of real rows, several side by side in compiler vector types: lane i holds row i. Each lane takes the
 * same steps in the same order, so a row has the same bits in any batch and, built with -ffp-contract=off, on every
 * instruction set.
 *
 * A row of n samples is a row of n / 2 complex numbers (Stockham's algorithm, radices 4, 2, 3 and 5), whose lines are
 * then split into those of the even and the odd samples. */

#ifndef FDBCORE_FOURIER_H
#define FDBCORE_FOURIER_H

#include <stddef.h>
#include <string.h>

enum { FDB_MOST_ROWS = 8, FDB_MOST_RADICES = 16 };

/* radices: of n / 2, 0 after the last. cosines, sines: (n,) of -2 pi k / n. window: (n,), by which rows are multiplied. */
typedef struct {
    int n, radices[FDB_MOST_RADICES + 1];
    const float *cosines, *sines, *window;
} fdb_fourier;

#define FDB_ROWS 4
#define FDB_TARGET
#define FDB_(name) fdb_base_##name
#include "fourier_kernel.h"

#if defined(__x86_64__)
#define FDB_ROWS 8
#define FDB_TARGET __attribute__((target("avx2")))
#define FDB_(name) fdb_avx2_##name
#include "fourier_kernel.h"
#endif

typedef void (*fdb_transform)(
    const fdb_fourier *plan, const float *rows, ptrdiff_t row_step, ptrdiff_t samples, ptrdiff_t count, int powers,
    float *out, float *work);

/* The fastest way on this processor; `most_lanes` keeps it from using more than the 4 or 8 floats of a register. */
static inline fdb_transform fdb_transform_fastest(int most_lanes) {
#if defined(__x86_64__)
    if (most_lanes >= 8 && __builtin_cpu_supports("avx2")) return fdb_avx2_transform;
#endif
    (void)most_lanes;
    return fdb_base_transform;
}

#endif
