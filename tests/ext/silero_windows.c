/* The core's own C of the model as a program, for a processor that is not this one.
 *
 * silero_windows < MODEL_AND_WINDOWS > PROBABILITIES, float32. The model: int32 fft; the analysis window, the cosines,
 * the sines; of each layer the weights and then the biases, each after its int32 length. The windows: with what lies
 * beside them, 5 / 2 fft samples each. */

#include <stdio.h>
#include <stdlib.h>

#include "silero.h"

static float *floats(size_t n) {
    float *values = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);
    if (!values || fread(values, sizeof(float), n, stdin) != n) exit(1);
    return values;
}

static int32_t length(void) {
    int32_t n;
    if (fread(&n, sizeof n, 1, stdin) != 1) exit(1);
    return n;
}

int main(void) {
    fdb_silero model = {.fft = length()};
    const size_t half = model.fft / 2;
    model.window = floats(2 * half), model.cosines = floats(half), model.sines = floats(half);
    for (int layer = 0; layer < FDB_LAYERS; layer++) {
        model.weights[layer] = floats(length());
        model.biases[layer] = floats(length());
    }
    const fdb_silero_window window = fdb_silero_fastest(16);
    float pcm[5 * FDB_MOST_FFT / 2], state[2 * FDB_HIDDEN] = {0};
    while (fread(pcm, sizeof(float), 5 * half, stdin) == 5 * half) {
        const float probability = window(&model, pcm, state);
        fwrite(&probability, sizeof probability, 1, stdout);
    }
    return 0;
}
