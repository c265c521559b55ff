/* Runs a network that weft exported, liblstm.so: two layers of LSTM over a sequence, called once for each part of it.
 *
 *   cc -I$(python -c "from importlib.resources import files; print(files('weft.runtime') / 'include')") -I. \
 *      run_lstm.c ./liblstm.so -Wl,-rpath,. -o run_lstm
 *
 * Memory is the program's own and static: nothing is allocated for a call.
 */
#include <stdio.h>

#include "liblstm.h"

static _Alignas(64) unsigned char workspace[LSTM_WORKSPACE_BYTES];
static float data[LSTM_DATA_ELEMENTS], output[LSTM_OUTPUT_ELEMENTS];

int main(void)
{
    const int shape[] = LSTM_DATA_SHAPE;
    for (int i = 0; i < LSTM_DATA_ELEMENTS; ++i) data[i] = (float)(i % 17) / 8.0f - 1.0f;

    int32_t status = lstm_run(NULL, data, output, workspace); /* NULL: threads are the library's own */
    if (status != WEFT_STATUS_OK) {
        fprintf(stderr, "lstm: %s (argument %d)\n", weft_status_message(status), WEFT_ARGUMENT_OF(status));
        return 1;
    }
    printf("%d steps of %d features:", shape[0], shape[2]);
    for (int i = LSTM_OUTPUT_ELEMENTS - 4; i < LSTM_OUTPUT_ELEMENTS; ++i) printf(" %.6f", (double)output[i]);
    printf("\n");

    status = lstm_run(NULL, data, output, workspace + 1);
    if (status == WEFT_STATUS_OK) return 1;
    printf("a workspace that is not aligned: %s (argument %d)\n", weft_status_message(status), WEFT_ARGUMENT_OF(status));
    return 0;
}
