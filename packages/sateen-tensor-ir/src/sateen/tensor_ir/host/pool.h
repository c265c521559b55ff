/* A fork-join pool that keeps what docs/design/abi.md promises.
 *
 * Each worker thread has a slot for one chunk of work, with a word for its state. The caller of `parallel_for` fills
 * slots and posts them OPEN; their workers, who await that, take them: RUNNING; a worker that is through posts IDLE,
 * which the caller awaits in turn. A chunk that is still open when the caller is through with its own is taken by the
 * caller, so that nobody waits for a worker that sleeps or has lost its processor. The lowest bit of a state, ASLEEP,
 * says that whoever awaits its end is asleep: a post to one that is awake costs a single exchange. The release of a
 * post meets the acquire of an await, which orders everything else in the slot.
 *
 * One lock, only ever tried, guards the slots. Whoever doesn't get it, being inside a parallel region already or beside
 * another one, runs serially; so nothing can wait for itself. The pool lies on pages of its own that the kernel wipes
 * in a forked child (MADV_WIPEONFORK): zeros are the state before the first launch. */
#ifndef SATEEN_POOL_H_
#define SATEEN_POOL_H_

#include "processors.h"

enum { IDLE = 0, ASLEEP = 1, OPEN = 2, RUNNING = 4 };
enum {
  POOL_BYTES = 0x10000, /* a multiple of every page size in use on these machines */
  HEADER_BYTES = 256,
  SLOT_BYTES = 128,     /* two cache lines: processors fetch lines in pairs */
  WORKERS = (POOL_BYTES - HEADER_BYTES) / SLOT_BYTES
};

struct __attribute__((aligned(SLOT_BYTES))) slot {
  int32_t state;
  int32_t status; /* from whoever ran the chunk */
  sateen_task task;
  void *closure;
  int64_t begin, end;
  thread_id thread;
  int32_t avoided; /* 1 + the processor that the worker keeps off; 0: none */
};

struct pool {
  int32_t lock; /* 1 while held */
  char line[124];
  uint32_t size;  /* threads including the caller; 0 before the first launch */
  uint32_t spins; /* pauses before sleep */
  char lines[120];
  struct slot slots[WORKERS];
};

_Static_assert(sizeof(struct slot) == SLOT_BYTES && sizeof(struct pool) == POOL_BYTES, "sizes are those that are wiped");

static struct pool sateen_pool __attribute__((aligned(PAGE)));

/* Pauses of 10 to 40 ns each before a thread sleeps, so that an inference is over before anyone does. */
SETTING uint32_t sateen_pool_spins = 4000;

/* Changes a state, and wakes whoever sleeps awaiting that. */
static void post(int32_t *word, int32_t state) {
  int32_t old = __atomic_exchange_n(word, state, __ATOMIC_ACQ_REL);
  if (old & ASLEEP) syscall(FUTEX, word, (long)FUTEX_WAKE_PRIVATE, 1L);
}

/* Waits while a state is `old`, spinning at first, then asleep. Returns whether it came to that. */
static int await(int32_t *word, int32_t old) {
  for (uint32_t left = __atomic_load_n(&sateen_pool.spins, __ATOMIC_RELAXED);; --left) {
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != old) return 0;
    if (left == 0) break;
    PAUSE();
  }
  int32_t seen = old, sleeping = old | ASLEEP;
  if (!__atomic_compare_exchange_n(word, &seen, sleeping, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return 0;
  do syscall(FUTEX, word, (long)FUTEX_WAIT_PRIVATE, (long)sleeping, NULL);
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == sleeping);
  return 1;
}

/* Whether a state was `old` and is `state` now. */
static int take(int32_t *word, int32_t old, int32_t state) {
  return __atomic_compare_exchange_n(word, &old, state, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Runs the chunk in a slot that is the caller's or worker's own. */
static void run(struct slot *slot) { slot->status = slot->task(slot->closure, slot->begin, slot->end); }

/* The life of a worker: await that the slot is open, take it, run it; a chunk without a task ends it. */
static void *work(void *argument) {
  struct slot *slot = argument;
  for (;;) {
    await(&slot->state, IDLE);
    if (!take(&slot->state, OPEN, RUNNING)) continue;
    if (slot->task == NULL) return NULL;
    run(slot);
    post(&slot->state, IDLE);
  }
}

/* What the caller looks after when it wakes a worker, or was woken by one. First, whether spinning still pays: not
 * where the processors have become fewer than the threads. Second, that the worker keeps off the caller's processor: a
 * kernel wakes a thread beside its waker when the other processors look busy, as halted ones of a virtual machine do,
 * and there it would wait for milliseconds. */
static void adapt(struct slot *slot) {
  uint64_t mask[MASK_WORDS];
  uint32_t size = __atomic_load_n(&sateen_pool.size, __ATOMIC_RELAXED);
  uint32_t spins = allowed_processors(mask) < size ? 0 : sateen_pool_spins;
  __atomic_store_n(&sateen_pool.spins, spins, __ATOMIC_RELAXED);
  int32_t processor = sched_getcpu();
  if (slot->avoided == processor + 1) return;
  uint32_t bit = (uint32_t)processor % (8 * MASK_BYTES);
  mask[bit / 64] &= ~(UINT64_C(1) << bit % 64);
  pthread_setaffinity_np(slot->thread, MASK_BYTES, mask); /* refuses an empty mask */
  slot->avoided = processor + 1;
}

/* Has the kernel wipe the pool in a forked child. Returns whether it does. */
static int wipe_on_fork(void) { return madvise(&sateen_pool, POOL_BYTES, MADV_WIPEONFORK) == 0; }

/* Starts one worker for each processor but the caller's, and returns the number of threads; the lock is held. Workers
 * block all signals, which so stay with the threads of the host. Where the kernel can't wipe the pool in a forked child,
 * which would wait for workers that it doesn't have, there are none. */
static uint32_t start(void) {
  uint64_t all_signals[16], old_signals[16], mask[MASK_WORDS];
  __atomic_store_n(&sateen_pool.spins, sateen_pool_spins, __ATOMIC_RELAXED);
  uint32_t allowed = allowed_processors(mask), threads = 1;
  uint32_t wanted = wipe_on_fork() ? processor_quota(allowed < WORKERS + 1 ? allowed : WORKERS + 1) : 1;
  __builtin_memset(all_signals, -1, sizeof all_signals);
  pthread_sigmask(SIG_SETMASK, all_signals, old_signals);
  for (; threads < wanted; ++threads) {
    struct slot *slot = &sateen_pool.slots[threads - 1];
    if (pthread_create(&slot->thread, NULL, work, slot) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, old_signals, NULL);
  __atomic_store_n(&sateen_pool.size, threads, __ATOMIC_RELAXED);
  return threads;
}

/* `parallel_for` of the table: the caller runs chunk 0, and chunks 1, 2, ... that no worker has taken by then. */
static int32_t parallel_for(const sateen_host *host, sateen_task task, void *closure, int64_t extent) {
  if (extent < 1) return 0;
  if (host->threads == 1 || extent == 1) return task(closure, 0, extent);
  /* Before the lock is held, so that no child ever finds it held. */
  if (__atomic_load_n(&sateen_pool.size, __ATOMIC_RELAXED) == 0) wipe_on_fork();
  if (!take(&sateen_pool.lock, 0, 1)) return task(closure, 0, extent);
  uint64_t threads = __atomic_load_n(&sateen_pool.size, __ATOMIC_RELAXED);
  if (threads == 0) threads = start();
  if (host->threads > 0 && threads > (uint32_t)host->threads) threads = (uint32_t)host->threads;

  uint64_t chunks = threads < (uint64_t)extent ? threads : (uint64_t)extent;
  int64_t length = (int64_t)((uint64_t)extent / chunks);
  uint64_t longer = (uint64_t)extent % chunks; /* so many chunks are longer by one */
  int64_t first = length + (longer != 0), begin = first;
  for (uint64_t chunk = 1; chunk < chunks; ++chunk) {
    struct slot *slot = &sateen_pool.slots[chunk - 1];
    int64_t end = begin + length + (chunk < longer);
    slot->task = task;
    slot->closure = closure;
    slot->begin = begin;
    slot->end = end;
    if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) == (IDLE | ASLEEP)) adapt(slot);
    post(&slot->state, OPEN);
    begin = end;
  }
  int32_t status = task(closure, 0, first);
  for (uint64_t chunk = 1; chunk < chunks; ++chunk) {
    struct slot *slot = &sateen_pool.slots[chunk - 1];
    if (take(&slot->state, OPEN, IDLE)) run(slot);
  }
  for (uint64_t chunk = 1; chunk < chunks; ++chunk) {
    struct slot *slot = &sateen_pool.slots[chunk - 1];
    if (await(&slot->state, RUNNING)) adapt(slot);
    if (status == 0) status = slot->status;
  }
  __atomic_store_n(&sateen_pool.lock, 0, __ATOMIC_RELEASE);
  return status;
}

/* Ends and joins the workers, so that unloading is safe: the library's destructor, and for a JIT, which runs none, to be
 * called. It keeps the lock: other threads of a process that exits may still call, and then run serially. One that is
 * inside a parallel region at that time keeps its workers. */
void sateen_pool_stop(void) {
  if (!take(&sateen_pool.lock, 0, 1)) return;
  uint32_t threads = __atomic_load_n(&sateen_pool.size, __ATOMIC_RELAXED);
  for (uint32_t number = 1; number < threads; ++number) {
    struct slot *slot = &sateen_pool.slots[number - 1];
    slot->task = NULL;
    post(&slot->state, OPEN);
    pthread_join(slot->thread, NULL);
  }
}

#endif
