/* The calls of the C library and of Linux that the default host makes, declared here: its text is the same whatever
 * headers a machine has. Types are those that Linux has on machines of 32 and of 64 bits: `long` is as wide as a pointer.
 *
 * The architecture is told by its file in tensor_ir/targets: PAGE is its largest page in bytes, FUTEX the number of
 * that system call, PAUSE() an instruction that lets a spinning processor rest. */
#ifndef SATEEN_SYSTEM_H_
#define SATEEN_SYSTEM_H_

#include <stddef.h>
#include <stdint.h>

#include "sateen.h"

typedef unsigned long thread_id;

struct iovec {
  const void *base;
  size_t length;
};

long syscall(long number, ...);
int madvise(void *memory, size_t bytes, int advice);
int sched_getaffinity(int process, size_t bytes, void *mask);
int sched_getcpu(void);
int pthread_create(thread_id *thread, const void *attributes, void *(*routine)(void *), void *argument);
int pthread_join(thread_id thread, void **result);
int pthread_setaffinity_np(thread_id thread, size_t bytes, const void *mask);
int pthread_sigmask(int how, const void *set, void *old);
int posix_memalign(void **memory, size_t alignment, size_t bytes);
void free(void *memory);
int open(const char *path, int flags, ...);
long read(int file, void *memory, size_t bytes);
int close(int file);
long writev(int file, const struct iovec *pieces, int count);
int snprintf(char *text, size_t size, const char *format, ...);
size_t strlen(const char *text);
size_t strcspn(const char *text, const char *ends);
int strncmp(const char *a, const char *b, size_t size);
long strtol(const char *text, char **end, int base);

enum { MADV_WIPEONFORK = 18, SIG_SETMASK = 2, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129, STDERR = 2 };
enum { O_RDONLY_CLOEXEC = 524288 };

/* What a test may set before the pool starts, and nobody else: hidden, so that no other library sees it. */
#define SETTING __attribute__((visibility("hidden")))

#endif
