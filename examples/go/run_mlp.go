// Runs a network that sateen exported as a static archive, libmlp.a, from Go.
package main

/*
#cgo LDFLAGS: ${SRCDIR}/libmlp.a -lpthread
#include "libmlp.h"
static _Alignas(64) unsigned char workspace[MLP_WORKSPACE_BYTES];
static int32_t run(const float *data, float *probabilities) { return mlp_run(NULL, data, probabilities, workspace); }
*/
import "C"

import (
	"fmt"
	"os"
)

func main() {
	var data [C.MLP_DATA_ELEMENTS]C.float
	var probabilities [C.MLP_PROBABILITIES_ELEMENTS]C.float
	for i := range data {
		data[i] = C.float(i%17) / 16
	}
	if status := C.run(&data[0], &probabilities[0]); status != 0 {
		fmt.Fprintln(os.Stderr, "mlp:", C.GoString(C.mlp_sateen_status_message(status)))
		os.Exit(1)
	}
	for _, value := range probabilities {
		fmt.Printf(" %.6f", float64(value))
	}
	fmt.Println()
}
