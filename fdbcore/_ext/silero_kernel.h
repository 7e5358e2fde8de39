/* One window of the model for one instruction set; `silero.h` includes this once for each, with
 *
 *   FDB_VECTOR   floats in a vector register
 *   FDB_PASS     outputs whose sums are in registers at once, for a layer with blocks of `block` outputs
 *   FDB_TARGET   the attribute that lets the compiler use the instruction set
 *   FDB_(name)   the names of this instruction set
 *
 * Every sum takes its products in one order, so all of them give the same bits. */

typedef float FDB_(floats) __attribute__((vector_size(4 * FDB_VECTOR)));
typedef int32_t FDB_(ints) __attribute__((vector_size(4 * FDB_VECTOR)));
#define FLOATS FDB_(floats)
#define INTS FDB_(ints)
#define INLINE FDB_TARGET __attribute__((always_inline)) static inline

INLINE FLOATS FDB_(load)(const float *from) {
    FLOATS lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

INLINE FLOATS FDB_(select)(INTS chosen, FLOATS yes, FLOATS no) {
    return (FLOATS)((chosen & (INTS)yes) | (~chosen & (INTS)no));
}

/* e^x for |x| <= 87, clamped beyond: the reduction and the polynomial of Cephes' expf. */
INLINE FLOATS FDB_(exp)(FLOATS x) {
    const FLOATS most = (FLOATS){0} + 87.0f, magic = (FLOATS){0} + 12582912.0f; /* 1.5 * 2^23: adding it rounds */
    x = FDB_(select)(x > most, most, x);
    x = FDB_(select)(x < -most, -most, x);
    const FLOATS n = (x * 1.44269504f + magic) - magic, r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    FLOATS p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    return p * (FLOATS)((__builtin_convertvector(n, INTS) + 127) << 23);
}

INLINE FLOATS FDB_(sigmoid)(FLOATS x) { return 1.0f / (1.0f + FDB_(exp)(-x)); }

INLINE FLOATS FDB_(tanh)(FLOATS x) { return 1.0f - 2.0f / (FDB_(exp)(2.0f * x) + 1.0f); }

INLINE FLOATS FDB_(relu)(FLOATS x) { return FDB_(select)(x > 0.0f, x, (FLOATS){0}); }

/* A convolution or a dense layer: `frames` sums of each of `outputs` outputs, each over `inputs` inputs.
 * weights: (outputs / block, inputs, block). Input i of frame n is at `x[at[i] + n * step]`; output o of frame n goes
 * to `out[o * out_stride + n]`. Products are added up in rows, and these to the sum: one row of all of them would lose
 * a digit, which the state then makes ten times as much. */
INLINE void FDB_(layer)(
    const int outputs, const int block, const int frames, const float *weights, const float *biases, const int inputs,
    const int taps, const float *x, const int stride, const int step, const int rectified, float *out, const int out_stride) {
    enum { MOST = 8, IN_A_ROW = 32 };
    const int pass = FDB_PASS(block), vectors = pass / FDB_VECTOR;
    for (int first = 0; first < outputs; first += block, weights += block * inputs * taps)
        for (int part = 0; part < block; part += pass) {
            FLOATS sums[MOST];
            for (int v = 0; v < vectors; v++)
                for (int n = 0; n < frames; n++)
                    sums[v * frames + n] = FDB_(load)(biases + first + part + v * FDB_VECTOR);
            const float *weight = weights + part;
            for (int tap = 0; tap < taps; tap++)
                for (int from = 0; from < inputs; from += IN_A_ROW) {
                    const int end = from + IN_A_ROW < inputs ? from + IN_A_ROW : inputs;
                    FLOATS row[MOST] = {0};
                    for (int i = from; i < end; i++, weight += block)
                        for (int v = 0; v < vectors; v++) {
                            const FLOATS w = FDB_(load)(weight + v * FDB_VECTOR);
                            for (int n = 0; n < frames; n++)
                                row[v * frames + n] += w * x[i * stride + tap + n * step];
                        }
                    for (int sum = 0; sum < vectors * frames; sum++)
                        sums[sum] += row[sum];
                }
            for (int v = 0; v < vectors; v++)
                for (int n = 0; n < frames; n++) {
                    const FLOATS sum = rectified ? FDB_(relu)(sums[v * frames + n]) : sums[v * frames + n];
                    for (int lane = 0; lane < FDB_VECTOR; lane++)
                        out[(first + part + v * FDB_VECTOR + lane) * out_stride + n] = sum[lane];
                }
        }
}

FDB_TARGET static float FDB_(window)(const fdb_silero *model, const float *pcm, float *state) {
    const int bins = model->fft / 2 + 1;
    float spectra[FDB_MOST_BINS][6], one[128][6], two[64][2], three[64], four[2 * FDB_HIDDEN], gates[4 * FDB_HIDDEN];
    memset(spectra, 0, sizeof spectra); /* the frames before the first and after the last are silence */
    memset(one, 0, sizeof one);
    fdb_spectra(model, pcm, spectra);
    const float *const *w = model->weights, *const *b = model->biases;
    FDB_(layer)(128, 16, 4, w[0], b[0], bins, 3, spectra[0], 6, 1, 1, one[0] + 1, 6);
    FDB_(layer)(64, 32, 2, w[1], b[1], 128, 3, one[0], 6, 2, 1, two[0], 2);
    FDB_(layer)(64, 64, 1, w[2], b[2], 64, 2, two[0], 2, 1, 1, three, 1);
    FDB_(layer)(128, 64, 1, w[3], b[3], 64, 1, three, 1, 1, 1, four, 1);
    memcpy(four + FDB_HIDDEN, state, FDB_HIDDEN * sizeof(float));
    FDB_(layer)(512, 64, 1, w[4], b[4], 256, 1, four, 1, 1, 0, gates, 1);
    float *hidden = state, *cell = state + FDB_HIDDEN;
    for (int at = 0; at < FDB_HIDDEN; at += FDB_VECTOR) {
        const FLOATS in = FDB_(sigmoid)(FDB_(load)(gates + at));
        const FLOATS forget = FDB_(sigmoid)(FDB_(load)(gates + FDB_HIDDEN + at));
        const FLOATS value = FDB_(tanh)(FDB_(load)(gates + 2 * FDB_HIDDEN + at));
        const FLOATS shown = FDB_(sigmoid)(FDB_(load)(gates + 3 * FDB_HIDDEN + at));
        const FLOATS c = forget * FDB_(load)(cell + at) + in * value, h = shown * FDB_(tanh)(c);
        memcpy(cell + at, &c, sizeof c);
        memcpy(hidden + at, &h, sizeof h);
    }
    float sum = b[5][0];
    for (int i = 0; i < FDB_HIDDEN; i++)
        sum += w[5][i] * (hidden[i] > 0.0f ? hidden[i] : 0.0f);
    return FDB_(sigmoid)((FLOATS){0} + sum)[0];
}

#undef FLOATS
#undef INTS
#undef INLINE
#undef FDB_VECTOR
#undef FDB_PASS
#undef FDB_TARGET
#undef FDB_
