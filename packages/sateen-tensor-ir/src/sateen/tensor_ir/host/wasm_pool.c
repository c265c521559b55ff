/* The default host of WebAssembly with threads: a fork-join pool whose threads the page starts, and memory that grows.
 *
 * A thread of the page is another instance of the module over the same memory, with a stack of its own. It calls
 * `sateen_pool_join`, which gives it a slot and never returns: it awaits chunks of work there until the page ends it.
 * Slots, locks and lists are zeros, which are in no segment of the module, so that a later instance changes nothing.
 *
 * The thread of a page must not sleep, so the caller of `parallel_for` only spins, for chunks that are being computed: a
 * chunk that no thread has taken when the caller is through with its own is taken by the caller. */
#include <stddef.h>
#include <stdint.h>

#include "sateen.h"

enum { IDLE = 0, ASLEEP = 1, OPEN = 2, RUNNING = 4 };
enum { SLOTS = 255, LINE = 64, SPINS = 20000, PAGE_BYTES = 65536 };

struct slot {
  int32_t state;
  int32_t status; /* from whoever ran the chunk */
  sateen_task task;
  void *closure;
  int64_t begin, end;
} __attribute__((aligned(LINE)));

/* A block of memory: this in front of it, then its bytes at a multiple of LINE. */
struct block {
  struct block *next; /* while it is free */
  uint32_t bytes;
} __attribute__((aligned(LINE)));

static struct slot slots[SLOTS];
static int32_t joined;      /* slots that were given to threads */
static int32_t in_parallel; /* 1 while slots are in use; only ever tried */
static int32_t in_list;     /* 1 while the list of free blocks is in use */
static struct block *free_blocks;

static int32_t take(int32_t *state, int32_t from, int32_t to) {
  return __atomic_compare_exchange_n(state, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void run(struct slot *slot) { slot->status = slot->task(slot->closure, slot->begin, slot->end); }

void sateen_pool_join(void) {
  int32_t index = __atomic_fetch_add(&joined, 1, __ATOMIC_ACQ_REL);
  if (index >= SLOTS) return;
  struct slot *slot = &slots[index];
  for (int32_t spins = 0;; ++spins) {
    int32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (state == OPEN && take(&slot->state, OPEN, RUNNING)) {
      run(slot);
      __atomic_store_n(&slot->state, IDLE, __ATOMIC_RELEASE);
      spins = 0;
    } else if (spins >= SPINS && (state == ASLEEP || take(&slot->state, IDLE, ASLEEP))) {
      __builtin_wasm_memory_atomic_wait32(&slot->state, ASLEEP, -1);
      spins = 0;
    }
  }
}

static int32_t parallel_for(const sateen_host *host, sateen_task task, void *closure, int64_t extent) {
  if (extent <= 0) return 0;
  int64_t threads = 1 + __atomic_load_n(&joined, __ATOMIC_ACQUIRE);
  if (threads > SLOTS + 1) threads = SLOTS + 1;
  if (host->threads > 0 && host->threads < threads) threads = host->threads;
  int64_t chunks = threads < extent ? threads : extent;
  if (chunks == 1 || !take(&in_parallel, 0, 1)) return task(closure, 0, extent);

  int64_t length = extent / chunks, longer = extent % chunks; /* so many chunks are longer by one */
  int64_t first = length + (longer > 0), begin = first;
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    struct slot *slot = &slots[chunk - 1];
    int64_t end = begin + length + (chunk < longer);
    slot->task = task, slot->closure = closure, slot->begin = begin, slot->end = end;
    if (__atomic_exchange_n(&slot->state, OPEN, __ATOMIC_ACQ_REL) == ASLEEP)
      __builtin_wasm_memory_atomic_notify(&slot->state, 1);
    begin = end;
  }
  int32_t status = task(closure, 0, first);
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    struct slot *slot = &slots[chunk - 1];
    for (int32_t state; (state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE)) == OPEN || state == RUNNING;)
      if (state == OPEN && take(&slot->state, OPEN, IDLE)) run(slot);
    if (status == 0) status = slot->status;
  }
  __atomic_store_n(&in_parallel, 0, __ATOMIC_RELEASE);
  return status;
}

static void hold_list(void) {
  while (!take(&in_list, 0, 1)) {
  }
}

static void release_list(void) { __atomic_store_n(&in_list, 0, __ATOMIC_RELEASE); }

/* A block of pages of its own, or null. */
static struct block *new_block(uint64_t bytes) {
  uint64_t pages = (bytes + sizeof(struct block) + PAGE_BYTES - 1) / PAGE_BYTES;
  if (pages > 0xffff) return NULL;
  size_t page = __builtin_wasm_memory_grow(0, (size_t)pages);
  if (page == SIZE_MAX) return NULL;
  struct block *block = (struct block *)(page * PAGE_BYTES);
  block->bytes = (uint32_t)(pages * PAGE_BYTES - sizeof(struct block));
  return block;
}

/* Memory at a multiple of LINE, or null: the first free block that is large enough, otherwise new pages. */
static void *allocate(const sateen_host *host, uint64_t bytes, uint64_t alignment) {
  (void)host;
  if (alignment > LINE) return NULL;
  struct block *block = NULL;
  hold_list();
  for (struct block **link = &free_blocks; *link != NULL; link = &(*link)->next)
    if ((*link)->bytes >= bytes) {
      block = *link;
      *link = block->next;
      break;
    }
  release_list();
  if (block == NULL) block = new_block(bytes);
  return block == NULL ? NULL : block + 1;
}

static void release(const sateen_host *host, void *memory) {
  (void)host;
  if (memory == NULL) return;
  struct block *block = (struct block *)memory - 1;
  hold_list();
  block->next = free_blocks;
  free_blocks = block;
  release_list();
}

static void log_line(const sateen_host *host, int32_t level, const char *message) {
  (void)host, (void)level, (void)message;
}

static const sateen_host sateen_table = {
  SATEEN_ABI_VERSION, 0, NULL, parallel_for, allocate, release, log_line, NULL, 0,
};

uint32_t sateen_abi_version(void) { return SATEEN_ABI_VERSION; }

const sateen_host *sateen_default_host(void) { return &sateen_table; }
