/* How much of the stack a network takes: words below the caller's frame are painted before it runs, and counted from the
 * lowest one that has changed. The linker puts what MEASURED defines in the place of the network (--wrap). */
#include <stddef.h>
#include <stdint.h>
#include <sateen.h>

#define PAINTED_WORDS 8192
#define PAINT 0xA5C3F00Du

static inline __attribute__((always_inline)) volatile uint32_t *stack_pointer(void) {
  volatile uint32_t *place;
  __asm__ volatile("mov %0, sp" : "=r"(place));
  return place;
}

#define MEASURED(function) \
  int32_t __real_##function(const sateen_host *, DLTensor *const *, int32_t); \
  int32_t __wrap_##function(const sateen_host *, DLTensor *const *, int32_t); \
  static uint32_t function##_taken; \
  int32_t __wrap_##function(const sateen_host *host, DLTensor *const *args, int32_t n) { \
    volatile uint32_t *end = stack_pointer(); \
    for (int i = 1; i <= PAINTED_WORDS; ++i) end[-i] = PAINT; \
    int32_t status = __real_##function(host, args, n); \
    uint32_t words = PAINTED_WORDS; \
    while (words > 0 && end[-(int32_t)words] == PAINT) --words; \
    function##_taken = words * sizeof(uint32_t); \
    return status; \
  }
