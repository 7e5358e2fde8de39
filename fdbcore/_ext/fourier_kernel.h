/* Fourier transforms for one instruction set; `fourier.h` includes this once for each, with
 *
 *   FDB_ROWS     floats in a vector register
 *   FDB_TARGET   the attribute that lets the compiler use the instruction set
 *   FDB_(name)   the names of this instruction set */

typedef float FDB_(rows) __attribute__((vector_size(4 * FDB_ROWS), aligned(4))); /* any memory will do */
typedef struct {
    FDB_(rows) re, im;
} FDB_(complex);
#define ROWS FDB_(rows)
#define COMPLEX FDB_(complex)
#define INLINE FDB_TARGET __attribute__((always_inline)) static inline


INLINE void FDB_(turned)(const COMPLEX *from, float c, float s, COMPLEX *to) {
    to->re = from->re * c - from->im * s;
    to->im = from->re * s + from->im * c;
}

/* The transform of two or four numbers. */
INLINE void FDB_(even_radix)(const int radix, const COMPLEX *a, COMPLEX *b) {
    if (radix == 2) {
        b[0].re = a[0].re + a[1].re, b[0].im = a[0].im + a[1].im;
        b[1].re = a[0].re - a[1].re, b[1].im = a[0].im - a[1].im;
        return;
    }
    const ROWS even_re = a[0].re + a[2].re, even_im = a[0].im + a[2].im;
    const ROWS odd_re = a[1].re + a[3].re, odd_im = a[1].im + a[3].im;
    const ROWS half_re = a[0].re - a[2].re, half_im = a[0].im - a[2].im;
    const ROWS turned_re = a[1].im - a[3].im, turned_im = a[3].re - a[1].re; /* by -i */
    b[0].re = even_re + odd_re, b[0].im = even_im + odd_im;
    b[1].re = half_re + turned_re, b[1].im = half_im + turned_im;
    b[2].re = even_re - odd_re, b[2].im = even_im - odd_im;
    b[3].re = half_re - turned_re, b[3].im = half_im - turned_im;
}

/* The transform of three or five numbers: lines k and radix - k share their sums and differences. `step` is n / radix. */
INLINE void FDB_(odd_radix)(
    const int radix, const fdb_fourier *plan, const int step, const COMPLEX *a, COMPLEX *b) {
    COMPLEX sums[2], differences[2];
    b[0] = a[0];
    for (int j = 0; j < radix / 2; j++) {
        const COMPLEX *up = a + j + 1, *down = a + radix - j - 1;
        sums[j].re = up->re + down->re, sums[j].im = up->im + down->im;
        differences[j].re = up->re - down->re, differences[j].im = up->im - down->im;
        b[0].re += sums[j].re, b[0].im += sums[j].im;
    }
    for (int k = 1; k <= radix / 2; k++) {
        ROWS re = a[0].re, im = a[0].im, over_re = {0.0f}, over_im = {0.0f};
        for (int j = 0; j < radix / 2; j++) {
            const int at = k * (j + 1) % radix * step;
            re += sums[j].re * plan->cosines[at], im += sums[j].im * plan->cosines[at];
            over_re += differences[j].im * plan->sines[at], over_im += differences[j].re * plan->sines[at];
        }
        b[k].re = re - over_re, b[k].im = im + over_im;
        b[radix - k].re = re + over_re, b[radix - k].im = im - over_im;
    }
}

/* One pass over n / 2 numbers. `stride`: the product of the radices before. */
INLINE void FDB_(pass)(
    const int radix, const fdb_fourier *plan, const int stride, const COMPLEX *from, COMPLEX *to) {
    const int half = plan->n / 2, parts = half / stride / radix;
    for (int part = 0; part < parts; part++)
        for (int q = 0; q < stride; q++) {
            COMPLEX a[5], b[5];
            for (int k = 0; k < radix; k++)
                a[k] = from[q + stride * (part + k * parts)];
            if (radix % 2)
                FDB_(odd_radix)(radix, plan, plan->n / radix, a, b);
            else
                FDB_(even_radix)(radix, a, b);
            COMPLEX *out = to + q + stride * radix * part;
            out[0] = b[0];
            for (int k = 1; k < radix; k++) {
                const int at = 2 * stride * part * k;
                FDB_(turned)(b + k, plan->cosines[at], plan->sines[at], out + k * stride);
            }
        }
}

/* Line k of the real rows, from the lines of the complex ones. */
INLINE COMPLEX FDB_(line)(const fdb_fourier *plan, const COMPLEX *z, const int k) {
    const int half = plan->n / 2;
    const COMPLEX *up = z + k % half, *down = z + (half - k) % half;
    const COMPLEX odd = {up->im + down->im, down->re - up->re};
    COMPLEX turned, line;
    FDB_(turned)(&odd, plan->cosines[k], plan->sines[k], &turned);
    line.re = 0.5f * ((up->re + down->re) + turned.re);
    line.im = 0.5f * ((up->im - down->im) + turned.im);
    return line;
}

/* The lines of `count` rows of `samples` samples, at most FDB_ROWS, which start `row_step` floats apart; samples up to n
 * are 0. Lines go to `out` as complex numbers, or only their powers: n / 2 + 1 of each row. work: room for 2 n rows. */
INLINE void FDB_(batch)(
    const fdb_fourier *plan, const float *rows, ptrdiff_t row_step, ptrdiff_t samples, ptrdiff_t count,
    const int powers, float *out, float *work) {
    const int half = plan->n / 2;
    COMPLEX *from = (COMPLEX *)work, *to = from + half;
    memset(work, 0, sizeof(COMPLEX) * half);
    for (ptrdiff_t row = 0; row < count; row++) {
        float *lane = work + row;
        for (ptrdiff_t i = 0; i < samples; i++)
            lane[i * FDB_ROWS] = rows[row * row_step + i] * plan->window[i];
    }
    int stride = 1;
    for (const int *radix = plan->radices; *radix; radix++) {
        switch (*radix) {
            case 2: FDB_(pass)(2, plan, stride, from, to); break;
            case 3: FDB_(pass)(3, plan, stride, from, to); break;
            case 4: FDB_(pass)(4, plan, stride, from, to); break;
            case 5: FDB_(pass)(5, plan, stride, from, to); break;
        }
        stride *= *radix;
        COMPLEX *last = from;
        from = to, to = last;
    }
    const ptrdiff_t lines = half + 1;
    for (int k = 0; k <= half; k++) {
        const COMPLEX line = FDB_(line)(plan, from, k);
        if (powers) {
            const ROWS power = line.re * line.re + line.im * line.im;
            for (ptrdiff_t row = 0; row < count; row++)
                out[row * lines + k] = power[row];
        } else
            for (ptrdiff_t row = 0; row < count; row++) {
                out[2 * (row * lines + k)] = line.re[row];
                out[2 * (row * lines + k) + 1] = line.im[row];
            }
    }
}

/* The lines of `count` rows of `samples` samples, which start `row_step` floats apart; see `batch`. */
FDB_TARGET static void FDB_(transform)(
    const fdb_fourier *plan, const float *rows, ptrdiff_t row_step, ptrdiff_t samples, ptrdiff_t count, int powers,
    float *out, float *work) {
    const ptrdiff_t a_row = (plan->n / 2 + 1) * (powers ? 1 : 2);
    for (ptrdiff_t row = 0; row < count; row += FDB_ROWS) {
        const ptrdiff_t left = count - row < FDB_ROWS ? count - row : FDB_ROWS;
        if (powers)
            FDB_(batch)(plan, rows + row * row_step, row_step, samples, left, 1, out + row * a_row, work);
        else
            FDB_(batch)(plan, rows + row * row_step, row_step, samples, left, 0, out + row * a_row, work);
    }
}

#undef ROWS
#undef COMPLEX
#undef INLINE
#undef FDB_ROWS
#undef FDB_TARGET
#undef FDB_
