/* The native ABI of sateen, version 1: what a compiled library offers, and what it asks of its host.
 *
 * A C host declares the functions that its library exports and links against it, or looks them up with dlsym:
 *
 *   int32_t matmul(const sateen_host *host, DLTensor *const *args, int32_t n);
 *   ...
 *   int32_t status = matmul(NULL, args, 3);
 *   if (status != 0) fprintf(stderr, "matmul: %s\n", sateen_status_message(status));
 */
#ifndef SATEEN_H_
#define SATEEN_H_

#include <stdint.h>

/* DLPack's DLTensor: from its own header where the compiler finds that (include it first where it lies elsewhere),
 * or the same definitions, as far as this ABI goes. */
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_

enum { kDLCPU = 1, kDLCUDA = 2, kDLOpenCL = 4, kDLMetal = 8 };             /* DLDevice.device_type */
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };  /* DLDataType.code */

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;        /* in elements; NULL: compact, the last dimension contiguous */
  uint64_t byte_offset;
} DLTensor;

#endif /* DLPACK_DLPACK_H_ */

#define SATEEN_ABI_VERSION 1

typedef struct sateen_host sateen_host;
typedef struct sateen_device_api sateen_device_api;

/* One chunk, [begin, end), of a parallel loop. Returns a status. */
typedef int32_t (*sateen_task)(void *closure, int64_t begin, int64_t end);

/* What a library asks of its host. To cap the threads of one model, copy a table and set `threads`. */
struct sateen_host {
  uint32_t abi_version;    /* SATEEN_ABI_VERSION */
  int32_t threads;         /* cap on the threads of one parallel_for through this table; 0: the pool's size */
  void *context;           /* belongs to whoever made the table: the default table's pool */

  /* Cuts [0, extent) into at most min(threads, extent) contiguous chunks of nearly equal length, runs `task` once per
   * chunk and returns the first non-zero status of the lowest chunk, after all have ended. May be called from within
   * a task and from several threads at once. */
  int32_t (*parallel_for)(const sateen_host *host, sateen_task task, void *closure, int64_t extent);

  /* Memory at a multiple of `alignment`, a power of two; NULL where there is none. */
  void *(*alloc)(const sateen_host *host, uint64_t bytes, uint64_t alignment);
  void (*free)(const sateen_host *host, void *memory);

  void (*log)(const sateen_host *host, int32_t level, const char *message);

  const sateen_device_api *device;   /* NULL where there is no device */
};

/* A public function of a library: checks its `n` arguments, then computes. `host` NULL: the library's own table.
 * Returns 0 or a status, and leaves the thread's mode of floating point (rounding, denormals) as it found it. */
typedef int32_t (*sateen_function)(const sateen_host *host, DLTensor *const *args, int32_t n);

uint32_t sateen_abi_version(void);
const sateen_host *sateen_default_host(void);        /* the library's own pool, the C allocator, a log to stderr */
const char *sateen_status_message(int32_t status); /* English, in static storage; never NULL */
extern const char sateen_metadata[];               /* JSON: format version, producer, target, each function's signature */

/* A status is 0, or code | argument << 8 | dimension << 16. */
enum {
  SATEEN_STATUS_OK = 0,
  SATEEN_STATUS_ARGUMENT_COUNT = 1,
  SATEEN_STATUS_NULL_ARGUMENT = 2,  /* argument */
  SATEEN_STATUS_DEVICE = 3,         /* argument */
  SATEEN_STATUS_DTYPE = 4,          /* argument */
  SATEEN_STATUS_RANK = 5,           /* argument */
  SATEEN_STATUS_SHAPE = 6,          /* argument, dimension */
  SATEEN_STATUS_STRIDES = 7,        /* argument, dimension */
  SATEEN_STATUS_ALIGNMENT = 8,      /* argument */
  SATEEN_STATUS_OUT_OF_MEMORY = 9,
  SATEEN_STATUS_ABI_VERSION = 10,
  SATEEN_STATUS_OVERLAP = 11,       /* argument */
  SATEEN_STATUS_LAUNCH = 12
};
#define SATEEN_CODE_OF(status) ((status) & 0xff)
#define SATEEN_ARGUMENT_OF(status) (((status) >> 8) & 0xff)
#define SATEEN_DIMENSION_OF(status) (((status) >> 16) & 0xffff)

#ifdef __cplusplus
}
#endif

#endif /* SATEEN_H_ */
