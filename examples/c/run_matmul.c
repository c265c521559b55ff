/* Calls a library that sateen exported, libmatmul.so: C = A B, with A of 32 x 64 and B of 64 x 48 float32.
 *
 *   cc -I$(python -c "from importlib.resources import files; print(files('sateen.runtime') / 'include')") -I. \
 *      run_matmul.c ./libmatmul.so -Wl,-rpath,. -o run_matmul
 */
#include <stdio.h>

#include "libmatmul.h"

enum { ROWS = 32, INNER = 64, COLUMNS = 48 };

static float a[ROWS][INNER], b[INNER][COLUMNS], c[ROWS][COLUMNS];

/* A compact matrix of float32 over memory of the caller. */
static DLTensor matrix(void *data, int64_t shape[2])
{
    DLTensor tensor = {0};
    tensor.data = data;
    tensor.device.device_type = kDLCPU;
    tensor.ndim = 2;
    tensor.dtype = (DLDataType){kDLFloat, 32, 1};
    tensor.shape = shape;
    return tensor;
}

/* How many elements of c differ from the sum; the numbers are small integers, so none may. */
static int wrong_elements(void)
{
    int wrong = 0;
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < COLUMNS; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < INNER; ++k) sum += a[i][k] * b[k][j];
            wrong += sum != c[i][j];
        }
    }
    return wrong;
}

int main(void)
{
    int64_t shape_a[] = {ROWS, INNER}, shape_b[] = {INNER, COLUMNS}, shape_c[] = {ROWS, COLUMNS};
    DLTensor A = matrix(a, shape_a), B = matrix(b, shape_b), C = matrix(c, shape_c);
    DLTensor *args[] = {&A, &B, &C};

    for (int i = 0; i < ROWS; ++i)
        for (int k = 0; k < INNER; ++k) a[i][k] = (float)((i * 7 + k * 3) % 11) - 5.0f;
    for (int k = 0; k < INNER; ++k)
        for (int j = 0; j < COLUMNS; ++j) b[k][j] = (float)((k * 5 + j) % 13) - 6.0f;

    int32_t status = matmul(NULL, args, 3); /* NULL: threads and memory are the library's own */
    if (status != SATEEN_STATUS_OK) {
        fprintf(stderr, "matmul: %s\n", sateen_status_message(status));
        return 1;
    }
    if (wrong_elements() != 0) {
        fprintf(stderr, "matmul: %d elements are wrong\n", wrong_elements());
        return 1;
    }
    printf("from C: all elements are right\n");

    shape_b[1] = COLUMNS - 1;
    status = matmul(NULL, args, 3);
    if (status == SATEEN_STATUS_OK) return 1;
    printf("a wrong shape: %s (argument %d, dimension %d)\n", sateen_status_message(status), SATEEN_ARGUMENT_OF(status),
           SATEEN_DIMENSION_OF(status));
    return 0;
}
