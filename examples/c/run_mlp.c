/* Runs a network that sateen exported, libmlp.so: three dense layers that tell which of ten digits a picture shows.
 *
 *   cc -I$(python -c "from importlib.resources import files; print(files('sateen.runtime') / 'include')") -I. \
 *      run_mlp.c ./libmlp.so -Wl,-rpath,. -o run_mlp
 *
 * All memory is the program's own and static: a call allocates nothing.
 */
#include <stdio.h>

#include "libmlp.h"

static _Alignas(64) unsigned char workspace[MLP_WORKSPACE_BYTES];
static float data[MLP_DATA_ELEMENTS], probabilities[MLP_PROBABILITIES_ELEMENTS];

int main(void)
{
    for (int i = 0; i < MLP_DATA_ELEMENTS; ++i) data[i] = (float)(i % 17) / 16.0f;

    int32_t status = mlp_run(NULL, data, probabilities, workspace); /* NULL: threads are the library's own */
    if (status != SATEEN_STATUS_OK) {
        fprintf(stderr, "mlp: %s (argument %d)\n", mlp_sateen_status_message(status), SATEEN_ARGUMENT_OF(status));
        return 1;
    }
    for (int i = 0; i < MLP_PROBABILITIES_ELEMENTS; ++i) printf(" %.6f", (double)probabilities[i]);
    printf("\n");

    status = mlp_run(NULL, data, probabilities, workspace + 1);
    if (status == SATEEN_STATUS_OK) return 1;
    printf("a workspace off its place: %s (argument %d)\n", mlp_sateen_status_message(status), SATEEN_ARGUMENT_OF(status));
    return 0;
}
