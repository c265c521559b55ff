/* The native ABI of sateen, version 2: the functions of a compiled library, and those that it needs of its host.
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

/* DLPack's DLTensor: from its own header if the compiler finds that (if it is elsewhere, include it first), or the
 * same definitions, as far as this ABI needs them. */
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

#define SATEEN_ABI_VERSION 2

typedef struct sateen_host sateen_host;
typedef struct sateen_device sateen_device;

/* One chunk, [begin, end), of a parallel loop. Returns a status. */
typedef int32_t (*sateen_task)(void *closure, int64_t begin, int64_t end);

/* The services of a host for its libraries. To cap the threads of one model, copy a table and set `threads`. */
struct sateen_host {
  uint32_t abi_version;    /* SATEEN_ABI_VERSION */
  int32_t threads;         /* cap on the threads of one parallel_for through this table; 0: the pool's size */
  void *context;           /* the table's owner uses it; in the default table, the pool */

  /* Cuts [0, extent) into at most min(threads, extent) contiguous chunks of nearly equal length, runs `task` once per
   * chunk and returns the first non-zero status of the lowest chunk, after all have ended. May be called from within
   * a task and from several threads at once. */
  int32_t (*parallel_for)(const sateen_host *host, sateen_task task, void *closure, int64_t extent);

  /* Memory at a multiple of `alignment`, a power of two; NULL if there is none. */
  void *(*alloc)(const sateen_host *host, uint64_t bytes, uint64_t alignment);
  void (*free)(const sateen_host *host, void *memory);

  void (*log)(const sateen_host *host, int32_t level, const char *message);

  const sateen_device *const *devices;   /* code finds them by kind and number: opencl(1) is the second one of OpenCL */
  int32_t device_count;
};

/* Memory, and a byte offset in it. For a device, `memory` comes from its `alloc`; for the host, it is an address. */
typedef struct {
  void *memory;
  uint64_t offset;
  DLDevice device;
} sateen_place;

/* A kernel, by its name in the device's code: `grid` blocks of `block` threads along x, y and z execute it. Its
 * arguments are memory of the device, then integers of 64 bits. */
typedef struct {
  const char *kernel;
  int64_t grid[3];
  int64_t block[3];
  const sateen_place *places;
  const int64_t *scalars;
  int32_t place_count;
  int32_t scalar_count;
  int32_t queue;
} sateen_launch;

/* The services of a device for libraries. A queue is a number, from 0; a device does the work of one queue in order,
 * and that of different queues in any order. Functions return a status, unless they return memory or nothing; `sync`
 * returns failures of queued work. They may be called from several threads at once. */
struct sateen_device {
  DLDevice id;             /* the device of arguments in its memory */
  void *context;           /* the table's owner uses it */

  /* Memory of at least `bytes`, aligned for any element type; NULL if there is none. Freed memory is released when all
   * work that is queued at that time has ended. */
  void *(*alloc)(const sateen_device *device, uint64_t bytes);
  void (*free)(const sateen_device *device, void *memory);

  /* Queue a copy of `bytes` between this device and the host, or within the device. */
  int32_t (*copy)(
      const sateen_device *device, int32_t queue, const sateen_place *to, const sateen_place *from, uint64_t bytes);

  /* Queue a kernel. */
  int32_t (*launch)(const sateen_device *device, const sateen_launch *launch);

  /* Work queued in `queue` from now on begins when all present work in `other` has ended. */
  int32_t (*wait)(const sateen_device *device, int32_t queue, int32_t other);

  /* Returns when all work in `queue` has ended. */
  int32_t (*sync)(const sateen_device *device, int32_t queue);
};

/* A public function of a library: checks its `n` arguments, then computes. `host` NULL: the library's own table.
 * Returns 0 or a status, and restores the thread's floating-point mode (rounding, denormals). */
typedef int32_t (*sateen_function)(const sateen_host *host, DLTensor *const *args, int32_t n);

uint32_t sateen_abi_version(void);
const sateen_host *sateen_default_host(void);        /* the library's own pool, the C allocator, a log to stderr */
const char *sateen_status_message(int32_t status); /* English, in static storage; never NULL */
extern const char sateen_metadata[];               /* JSON: format version, producer, target, each function's signature */

/* A status is 0, or code | argument << 8 | dimension << 24. */
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
  SATEEN_STATUS_LAUNCH = 12,
  SATEEN_STATUS_NO_DEVICE = 13,
  SATEEN_STATUS_QUEUE = 14,
  SATEEN_STATUS_FUNCTION = 15,
  SATEEN_STATUS_TILES = 16
};
#define SATEEN_CODE_OF(status) ((status) & 0xff)
#define SATEEN_ARGUMENT_OF(status) (((status) >> 8) & 0xffff)
#define SATEEN_DIMENSION_OF(status) (((status) >> 24) & 0x7f)

#ifdef __cplusplus
}
#endif

#endif /* SATEEN_H_ */
