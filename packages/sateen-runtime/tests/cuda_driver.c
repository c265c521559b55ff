/* A driver of CUDA for tests, on memory of this process. It checks what it is given as NVIDIA's does, or more strictly: that
   it was initialised, that a context is current on the thread and holds the handles, that these live, addresses within
   memory, flags, names of kernels that the code has, sizes of launches, and what a capture forbids. Work is done at once,
   by functions that a test names; failures are those that it asks for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, INVALID_HANDLE = 400, ILLEGAL_STATE = 401, NOT_FOUND = 500, NOT_READY = 600, RESOURCES = 701,
       CAPTURE_UNSUPPORTED = 900, MOST = 4096, DEVICES = 2 };
enum { MEMORY = 1, MODULE, FUNCTION, STREAM, EVENT, GRAPH, EXECUTABLE, KINDS };

typedef int (*Kernel)(const unsigned *grid, const unsigned *block, void **arguments);
typedef struct { int kind, context; } Header;
typedef struct { Header h; char *base; size_t size; } Object;
typedef struct { Header h; char names[1 << 16]; } Module;
typedef struct { Header h; Module *module; Kernel run; char name[256]; } Function;
typedef struct { Function *function; unsigned sizes[6]; void **arguments; } Work;
typedef struct { Header h; int capturing, count; Work work[MOST]; } Stream;
typedef struct { Header h; double time; int is_recorded; } Event;

static Object objects[MOST];
static int live[KINDS], launched, replayed, hanging, sticky, is_initialised, retained[DEVICES];
static __thread int stack[64], depth, capturing;
static struct { char name[64]; int status; } failing;
static struct { char name[256]; Kernel run; } known[MOST];
static int known_count;
static double now;

#define TRY(status) do { int s_ = (status); if (s_) return s_; } while (0)
static int asked(const char *name) {
  if (sticky) return sticky;
  if (strcmp(failing.name, name)) return 0;
  failing.name[0] = 0;
  if (failing.status >= 700 && failing.status < 800) sticky = failing.status;
  return failing.status;
}
static int current(void) { return depth ? stack[depth - 1] : 0; }
/* What every call checks first, and those that need a context. */
static int ready(const char *name) { return is_initialised ? asked(name) : NOT_INITIALIZED; }
static int here(const char *name) { TRY(ready(name)); return current() ? 0 : INVALID_CONTEXT; }
/* Calls that wait for the device, which a thread that captures must not make. */
static int apart(const char *name) { TRY(here(name)); return capturing ? CAPTURE_UNSUPPORTED : 0; }
static void *made(int kind, size_t size) {
  Header *o = calloc(1, size);
  *o = (Header){kind, current()};
  ++live[kind];
  return o;
}
static int is(const void *o, int kind) {
  return o != NULL && ((const Header *)o)->kind == kind && ((const Header *)o)->context == current() ? 0 : INVALID_HANDLE;
}
static int gone(void *o, int kind) { TRY(is(o, kind)); ((Header *)o)->kind = 0; --live[kind]; return 0; }
static int within(uint64_t address, size_t size) {
  for (int i = 0; i < MOST; ++i) {
    uint64_t base = (uint64_t)objects[i].base;
    if (objects[i].h.kind && objects[i].h.context == current() && base <= address && address + size <= base + objects[i].size)
      return 0;
  }
  return INVALID_VALUE;
}

/* For tests. */
void stub_fail(const char *name, int status) { strcpy(failing.name, name); failing.status = status; }
void stub_hang(int yes) { hanging = yes; }
void stub_reset(void) { sticky = launched = replayed = hanging = 0; failing.name[0] = 0; }
int stub_live(int kind) { return live[kind]; }
int stub_launched(void) { return launched; }
int stub_replayed(void) { return replayed; }
int stub_depth(void) { return depth; }
int stub_retained(int device) { return retained[device]; }
void stub_kernel(const char *name, Kernel run) {
  int at = 0;
  while (at < known_count && strcmp(known[at].name, name)) ++at;
  strcpy(known[at].name, name);
  known[at].run = run;
  if (at == known_count) ++known_count;
}

/* The driver's functions, in the order of the table that calls them. */
int cuInit(unsigned flags) { TRY(asked("cuInit")); is_initialised = 1; return flags ? INVALID_VALUE : 0; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuGetErrorName(int status, const char **text) {
  static char name[32];
  *text = NULL;
  if (status > 999) return INVALID_VALUE;
  sprintf(name, "CUDA_ERROR_%d", status);
  *text = name;
  return 0;
}
int cuGetErrorString(int status, const char **text) { return cuGetErrorName(status, text); }
int cuDeviceGetCount(int *count) { TRY(ready("cuDeviceGetCount")); *count = DEVICES; return 0; }
int cuDeviceGet(int *device, int index) { TRY(ready("cuDeviceGet")); *device = index; return index < DEVICES ? 0 : INVALID_DEVICE; }
int cuDeviceGetName(char *name, int size, int device) { TRY(ready("cuDeviceGetName")); snprintf(name, size, "Example %d", device); return 0; }
int cuDeviceTotalMem_v2(size_t *size, int device) { TRY(ready("cuDeviceTotalMem_v2")); (void)device; *size = 1 << 24; return 0; }
int cuDeviceGetAttribute(int *value, int key, int device) {
  static const struct { int key, value; } table[] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32}, {16, 132},
    {18, 0}, {75, 9}, {76, 0}};
  TRY(ready("cuDeviceGetAttribute"));
  if (device < 0 || device >= DEVICES) return INVALID_DEVICE;
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) if (table[i].key == key) { *value = table[i].value; return 0; }
  return INVALID_VALUE;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  TRY(ready("cuDevicePrimaryCtxRetain"));
  ++retained[device];
  *context = (void *)(intptr_t)(device + 1);
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  TRY(ready("cuDevicePrimaryCtxRelease_v2"));
  if (!retained[device]) return INVALID_CONTEXT;
  --retained[device];
  return 0;
}
int cuCtxPushCurrent_v2(void *context) {
  int one = (int)(intptr_t)context;
  TRY(ready("cuCtxPushCurrent_v2"));
  if (one < 1 || one > DEVICES || !retained[one - 1] || depth == 64) return INVALID_CONTEXT;
  stack[depth++] = one;
  return 0;
}
int cuCtxPopCurrent_v2(void **context) {
  if (!depth) return INVALID_CONTEXT;
  *context = (void *)(intptr_t)stack[--depth];
  return sticky;
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
  TRY(apart("cuMemAlloc_v2"));
  if (!size) return INVALID_VALUE;
  if (size > 1 << 22) return OUT_OF_MEMORY;
  for (int i = 0; i < MOST; ++i) if (!objects[i].h.kind) {
    objects[i] = (Object){{MEMORY, current()}, aligned_alloc(256, (size + 255) / 256 * 256), size};
    memset(objects[i].base, 0x5a, size);
    *address = (uint64_t)objects[i].base; ++live[MEMORY];
    return 0;
  }
  return OUT_OF_MEMORY;
}
int cuMemFree_v2(uint64_t address) {
  TRY(apart("cuMemFree_v2"));
  for (int i = 0; i < MOST; ++i)
    if (objects[i].h.kind && objects[i].h.context == current() && (uint64_t)objects[i].base == address) {
      free(objects[i].base); objects[i].h.kind = 0; --live[MEMORY];
      return 0;
    }
  return INVALID_VALUE;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  TRY(apart("cuMemcpyHtoDAsync_v2"));
  TRY(is(stream, STREAM));
  TRY(within(to, size));
  memcpy((void *)to, from, size);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  TRY(apart("cuMemcpyDtoHAsync_v2"));
  TRY(is(stream, STREAM));
  TRY(within(from, size));
  memcpy(to, (void *)from, size);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  TRY(apart("cuMemcpyDtoDAsync_v2"));
  TRY(is(stream, STREAM));
  TRY(within(to, size));
  TRY(within(from, size));
  memmove((void *)to, (void *)from, size);
  return 0;
}
int cuStreamCreate(void **stream, unsigned flags) {
  TRY(here("cuStreamCreate"));
  if (flags > 1) return INVALID_VALUE;
  *stream = made(STREAM, sizeof(Stream));
  return 0;
}
int cuStreamDestroy_v2(void *stream) {
  TRY(here("cuStreamDestroy_v2"));
  if (!is(stream, STREAM) && ((Stream *)stream)->capturing) return ILLEGAL_STATE;
  return gone(stream, STREAM);
}
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  TRY(here("cuStreamWaitEvent"));
  TRY(is(stream, STREAM));
  return flags ? INVALID_VALUE : is(event, EVENT);
}
int cuStreamBeginCapture_v2(void *stream, int mode) {
  TRY(here("cuStreamBeginCapture_v2"));
  TRY(is(stream, STREAM));
  if (mode != 1 || ((Stream *)stream)->capturing) return INVALID_VALUE;
  ((Stream *)stream)->capturing = 1;
  ++capturing;
  return 0;
}
int cuStreamEndCapture(void *stream, void **graph) {
  TRY(here("cuStreamEndCapture"));
  TRY(is(stream, STREAM));
  Stream *from = stream;
  if (!from->capturing) return ILLEGAL_STATE;
  Stream *to = made(GRAPH, sizeof(Stream));
  to->count = from->count;
  memcpy(to->work, from->work, sizeof to->work);
  from->capturing = 0;
  --capturing;
  *graph = to;
  return 0;
}
int cuEventCreate(void **event, unsigned flags) {
  TRY(here("cuEventCreate"));
  if (flags > 7) return INVALID_VALUE;
  *event = made(EVENT, sizeof(Event));
  return 0;
}
int cuEventRecord(void *event, void *stream) {
  TRY(here("cuEventRecord"));
  TRY(is(event, EVENT));
  TRY(is(stream, STREAM));
  ((Event *)event)->time = now;
  ((Event *)event)->is_recorded = 1;
  return 0;
}
int cuEventQuery(void *event) {
  TRY(apart("cuEventQuery"));
  TRY(is(event, EVENT));
  return hanging ? NOT_READY : 0;
}
int cuEventElapsedTime(float *milliseconds, void *first, void *second) {
  TRY(here("cuEventElapsedTime"));
  TRY(is(first, EVENT));
  TRY(is(second, EVENT));
  Event *a = first, *b = second;
  if (!a->is_recorded || !b->is_recorded) return INVALID_HANDLE;
  if (hanging) return NOT_READY;
  *milliseconds = (float)(b->time - a->time);
  return 0;
}
int cuEventDestroy_v2(void *event) { TRY(here("cuEventDestroy_v2")); return gone(event, EVENT); }
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, const int *options, void **values) {
  TRY(apart("cuModuleLoadDataEx"));
  char *log = NULL;
  size_t room = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) log = values[i];
    else if (options[i] == 6) room = (size_t)values[i];
    else return INVALID_VALUE;
  }
  if (strncmp(image, ".version", 8)) {
    int written = log ? snprintf(log, room, "ptxas fatal: expected .version") : 0;
    for (unsigned i = 0; i < count; ++i) if (options[i] == 6) values[i] = (void *)(intptr_t)written;
    return INVALID_PTX;
  }
  Module *made_module = made(MODULE, sizeof(Module));
  const char *at = image;
  while ((at = strstr(at, ".visible .entry ")) != NULL) {
    at += 16;
    strcat(made_module->names, "\n");
    strncat(made_module->names, at, strcspn(at, "("));
    strcat(made_module->names, "\n");
  }
  *module = made_module;
  return 0;
}
int cuModuleUnload(void *module) { TRY(apart("cuModuleUnload")); return gone(module, MODULE); }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  char line[300];
  TRY(here("cuModuleGetFunction"));
  TRY(is(module, MODULE));
  snprintf(line, sizeof line, "\n%s\n", name);
  if (!strstr(((Module *)module)->names, line)) return NOT_FOUND;
  Function *found = made(FUNCTION, sizeof(Function));
  found->module = module;
  for (int i = 0; i < known_count; ++i) if (!strcmp(known[i].name, name)) found->run = known[i].run;
  strcpy(found->name, name);
  *function = found;
  return 0;
}
/* A kernel whose name begins with wide needs so many registers that 256 threads fill a block. */
static unsigned most_threads(const Function *function) { return strncmp(function->name, "wide", 4) ? 1024 : 256; }
int cuFuncGetAttribute(int *value, int key, void *function) {
  TRY(here("cuFuncGetAttribute"));
  TRY(is(function, FUNCTION));
  if (key) return INVALID_VALUE;
  *value = (int)most_threads(function);
  return 0;
}
static int run(const Work *work) {
  TRY(is(work->function, FUNCTION));
  TRY(is(work->function->module, MODULE));
  return work->function->run ? work->function->run(work->sizes, work->sizes + 3, work->arguments) : 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  TRY(here("cuLaunchKernel"));
  TRY(is(function, FUNCTION));
  TRY(is(stream, STREAM));
  if (shared || extra || !arguments) return INVALID_VALUE;
  if (!gx || !gy || !gz || gx > 2147483647 || gy > 65535 || gz > 65535) return INVALID_VALUE;
  if (!bx || !by || !bz || bx > 1024 || by > 1024 || bz > 64) return INVALID_VALUE;
  if (bx * by * bz > most_threads(function)) return RESOURCES;
  Work work = {function, {gx, gy, gz, bx, by, bz}, arguments};
  Stream *to = stream;
  now += 2.0;
  if (to->capturing) { to->work[to->count++] = work; return 0; }
  if (capturing) return CAPTURE_UNSUPPORTED;
  ++launched;
  return run(&work);
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags) {
  TRY(here("cuGraphInstantiateWithFlags"));
  TRY(is(graph, GRAPH));
  if (flags) return INVALID_VALUE;
  Stream *copy = made(EXECUTABLE, sizeof(Stream));
  memcpy(copy->work, ((Stream *)graph)->work, sizeof copy->work);
  copy->count = ((Stream *)graph)->count;
  *executable = copy;
  return 0;
}
int cuGraphLaunch(void *executable, void *stream) {
  TRY(here("cuGraphLaunch"));
  TRY(is(executable, EXECUTABLE));
  TRY(is(stream, STREAM));
  ++replayed;
  Stream *graph = executable;
  for (int i = 0; i < graph->count; ++i) TRY(run(&graph->work[i]));
  return 0;
}
int cuGraphDestroy(void *graph) { TRY(here("cuGraphDestroy")); return gone(graph, GRAPH); }
int cuGraphExecDestroy(void *executable) { TRY(here("cuGraphExecDestroy")); return gone(executable, EXECUTABLE); }
