/* Silero VAD, the streaming model: the probability of speech in a window of 32 ms.
 *
 * 36 ms of audio -> 4 spectra -> 4 convolutions -> LSTM -> one sigmoid. Outputs lie side by side in compiler vector types,
 * and each of their sums has a fixed order, so every instruction set gives the same bits (with -ffp-contract=off). */

#ifndef FDBCORE_SILERO_H
#define FDBCORE_SILERO_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FDB_LAYERS = 6, FDB_FRAMES = 4, FDB_HIDDEN = 128, FDB_MOST_FFT = 256, FDB_MOST_BINS = FDB_MOST_FFT / 2 + 1 };

/* The model's weights, packed. fft: 256 at 16 kHz, 128 at 8 kHz; window (fft,), cosines and sines (fft / 2,) of
 * -2 pi k / fft. weights: of the convolutions, of the LSTM's gates (input, forget, cell, output; the layer's inputs, then
 * its state) and of the last layer. */
typedef struct {
    int fft;
    const float *window, *cosines, *sines;
    const float *weights[FDB_LAYERS], *biases[FDB_LAYERS];
} fdb_silero;

typedef float fdb_four __attribute__((vector_size(4 * FDB_FRAMES)));

/* The magnitudes of the spectra of four frames of `fft` samples, half of that apart, into out[bin][1 + frame]. A complex
 * transform of half the length, with the frames side by side. */
static inline void fdb_spectra(const fdb_silero *model, const float *pcm, float out[][6]) {
    const int fft = model->fft, half = fft / 2, bits = fft == 256 ? 7 : 6;
    fdb_four re[FDB_MOST_FFT / 2], im[FDB_MOST_FFT / 2];
    for (int n = 0; n < half; n++) {
        int at = 0;
        for (int bit = 0; bit < bits; bit++)
            at |= (n >> bit & 1) << (bits - 1 - bit);
        for (int frame = 0; frame < FDB_FRAMES; frame++) {
            re[at][frame] = pcm[frame * half + 2 * n] * model->window[2 * n];
            im[at][frame] = pcm[frame * half + 2 * n + 1] * model->window[2 * n + 1];
        }
    }
    for (int size = 1; size < half; size *= 2)
        for (int first = 0; first < half; first += 2 * size)
            for (int k = 0; k < size; k++) {
                const float c = model->cosines[k * (half / size)], s = model->sines[k * (half / size)];
                const int a = first + k, b = a + size;
                const fdb_four real = re[b] * c - im[b] * s, imaginary = re[b] * s + im[b] * c;
                re[b] = re[a] - real, im[b] = im[a] - imaginary;
                re[a] += real, im[a] += imaginary;
            }
    for (int k = 0; k <= half; k++) {
        const int j = k % half, m = (half - k) % half;
        const float c = k < half ? model->cosines[k] : -1.0f, s = k < half ? model->sines[k] : 0.0f;
        const fdb_four even = re[j] + re[m], even_i = im[j] - im[m], odd = im[j] + im[m], odd_i = re[m] - re[j];
        const fdb_four real = even + (odd * c - odd_i * s), imaginary = even_i + (odd * s + odd_i * c);
        const fdb_four power = 0.25f * (real * real + imaginary * imaginary);
        for (int frame = 0; frame < FDB_FRAMES; frame++)
            out[k][1 + frame] = sqrtf(power[frame]);
    }
}

#define FDB_VECTOR 4
#define FDB_PASS(block) ((block) / 2)
#define FDB_TARGET
#define FDB_(name) fdb_base_##name
#include "silero_kernel.h"

#if defined(__x86_64__)
#define FDB_VECTOR 8
#define FDB_PASS(block) (block)
#define FDB_TARGET __attribute__((target("avx2")))
#define FDB_(name) fdb_avx2_##name
#include "silero_kernel.h"

#define FDB_VECTOR 16
#define FDB_PASS(block) (block)
#define FDB_TARGET __attribute__((target("avx512f")))
#define FDB_(name) fdb_avx512_##name
#include "silero_kernel.h"
#endif

typedef float (*fdb_silero_window)(const fdb_silero *model, const float *pcm, float *state);

/* The fastest way on this processor; `limit` keeps it from using more than the 4, 8 or 16 floats of a vector. */
static inline fdb_silero_window fdb_silero_fastest(int limit) {
#if defined(__x86_64__)
    if (limit >= 16 && __builtin_cpu_supports("avx512f")) return fdb_avx512_window;
    if (limit >= 8 && __builtin_cpu_supports("avx2")) return fdb_avx2_window;
#endif
    (void)limit;
    return fdb_base_window;
}

#endif
