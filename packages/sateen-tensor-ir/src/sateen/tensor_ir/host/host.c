/* The default host of a library: a fork-join pool, the C library's allocator, and a log to standard error.
 *
 * It is compiled beside the kernels, into the same library, from the LLVM text in this folder: what clang makes of this
 * file for each architecture. `python test_host_text.py` in the tests makes it anew. */
#include "pool.h"

/* Memory at a multiple of `alignment`, a power of two, or null. */
static void *allocate(const sateen_host *host, uint64_t bytes, uint64_t alignment) {
  void *memory;
  (void)host;
  if (bytes > SIZE_MAX) return NULL;
  /* posix_memalign wants a pointer's size at least. */
  return posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : (size_t)alignment, (size_t)bytes) == 0 ? memory : NULL;
}

static void release(const sateen_host *host, void *memory) {
  (void)host;
  free(memory);
}

/* One line to standard error, in one piece. */
static void log_line(const sateen_host *host, int32_t level, const char *message) {
  (void)host, (void)level;
  struct iovec pieces[] = {{"sateen: ", 8}, {message, strlen(message)}, {"\n", 1}};
  writev(STDERR, pieces, 3);
}

static const sateen_host sateen_table = {
  SATEEN_ABI_VERSION, 0, &sateen_pool, parallel_for, allocate, release, log_line, NULL, 0,
};

/* Loaders run it as a destructor of the library. */
static void (*stop_entry)(void) __attribute__((used, section(".fini_array"))) = sateen_pool_stop;

uint32_t sateen_abi_version(void) { return SATEEN_ABI_VERSION; }

const sateen_host *sateen_default_host(void) { return &sateen_table; }
