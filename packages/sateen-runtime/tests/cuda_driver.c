/* A driver of CUDA for tests, on memory of this process. It checks what it is given: handles that live, addresses within
   memory, names of kernels that the code has. Work is done at once, by functions that a test names; failures are those
   that it asks for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_MEMORY = 2, INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500,
       NOT_READY = 600, MOST = 4096 };

typedef int (*Kernel)(const unsigned *grid, const unsigned *block, void **arguments);
typedef struct { int kind; char *base; size_t size; } Object;
typedef struct { int kind; char names[1 << 16]; } Module;
typedef struct { int kind; Kernel run; char name[256]; } Function;
typedef struct { Function *function; unsigned sizes[6]; void **arguments; } Work;
typedef struct { int kind; int capturing; int count; Work work[MOST]; } Stream;
typedef struct { int kind; double time; } Event;
enum { MEMORY = 1, MODULE, FUNCTION, STREAM, EVENT, GRAPH };

static Object objects[MOST];
static int live[8], launched, replayed, hanging, sticky, current;
static struct { char name[64]; int status; } failing;
static struct { char name[256]; Kernel run; } known[MOST];
static int known_count;
static double now;

#define CHECK(name) do { int s = fault(name); if (s) return s; } while (0)
static int fault(const char *name) {
  if (sticky) return sticky;
  if (strcmp(failing.name, name)) return 0;
  failing.name[0] = 0;
  if (failing.status >= 700) sticky = failing.status;
  return failing.status;
}
static void *made(int kind, size_t size) { int *o = calloc(1, size); *o = kind; ++live[kind]; return o; }
static int is(const void *o, int kind) { return o != NULL && *(const int *)o == kind; }
static int gone(void *o, int kind) { if (!is(o, kind)) return INVALID_HANDLE; *(int *)o = 0; --live[kind]; return 0; }
static int within(uint64_t address, size_t size) {
  for (int i = 0; i < MOST; ++i) {
    uint64_t base = (uint64_t)objects[i].base;
    if (objects[i].kind && base <= address && address + size <= base + objects[i].size) return 1;
  }
  return 0;
}

/* For tests. */
void stub_fail(const char *name, int status) { strcpy(failing.name, name); failing.status = status; }
void stub_hang(int yes) { hanging = yes; }
void stub_reset(void) { sticky = launched = replayed = hanging = 0; failing.name[0] = 0; }
int stub_live(int kind) { return live[kind]; }
int stub_launched(void) { return launched; }
int stub_replayed(void) { return replayed; }
void stub_kernel(const char *name, Kernel run) { strcpy(known[known_count].name, name); known[known_count++].run = run; }

/* The driver's functions, in the order of the table that calls them. */
int cuInit(unsigned flags) { CHECK("cuInit"); return flags ? INVALID_VALUE : 0; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuGetErrorName(int status, const char **text) { static char name[32]; sprintf(name, "CUDA_ERROR_%d", status); *text = name; return 0; }
int cuGetErrorString(int status, const char **text) { return cuGetErrorName(status, text); }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return index < 2 ? 0 : INVALID_VALUE; }
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "Example %d", device); return 0; }
int cuDeviceTotalMem_v2(size_t *size, int device) { (void)device; *size = 1 << 24; return 0; }
int cuDeviceGetAttribute(int *value, int key, int device) {
  static const struct { int key, value; } table[] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32}, {16, 132},
    {18, 0}, {75, 9}, {76, 0}};
  (void)device;
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) if (table[i].key == key) { *value = table[i].value; return 0; }
  return INVALID_VALUE;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { CHECK("cuDevicePrimaryCtxRetain"); *context = (void *)(intptr_t)(device + 1); return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; current = 0; return 0; }
int cuCtxSetCurrent(void *context) { current = (int)(intptr_t)context; return sticky; }
int cuMemAlloc_v2(uint64_t *address, size_t size) {
  CHECK("cuMemAlloc_v2");
  if (!current) return INVALID_CONTEXT;
  if (size > 1 << 22) return OUT_OF_MEMORY;
  for (int i = 0; i < MOST; ++i) if (!objects[i].kind) {
    objects[i] = (Object){MEMORY, aligned_alloc(256, (size + 255) / 256 * 256), size};
    memset(objects[i].base, 0x5a, size);
    *address = (uint64_t)objects[i].base; ++live[MEMORY];
    return 0;
  }
  return OUT_OF_MEMORY;
}
int cuMemFree_v2(uint64_t address) {
  for (int i = 0; i < MOST; ++i) if (objects[i].kind && (uint64_t)objects[i].base == address) {
    free(objects[i].base); objects[i].kind = 0; --live[MEMORY];
    return 0;
  }
  return INVALID_VALUE;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  CHECK("cuMemcpyHtoDAsync_v2");
  if (!is(stream, STREAM)) return INVALID_HANDLE;
  if (!within(to, size)) return INVALID_VALUE;
  memcpy((void *)to, from, size);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  CHECK("cuMemcpyDtoHAsync_v2");
  if (!is(stream, STREAM)) return INVALID_HANDLE;
  if (!within(from, size)) return INVALID_VALUE;
  memcpy(to, (void *)from, size);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  if (!is(stream, STREAM)) return INVALID_HANDLE;
  if (!within(to, size) || !within(from, size)) return INVALID_VALUE;
  memmove((void *)to, (void *)from, size);
  return 0;
}
int cuStreamCreate(void **stream, unsigned flags) { (void)flags; *stream = made(STREAM, sizeof(Stream)); return 0; }
int cuStreamDestroy_v2(void *stream) { return gone(stream, STREAM); }
int cuStreamSynchronize(void *stream) { CHECK("cuStreamSynchronize"); return is(stream, STREAM) ? 0 : INVALID_HANDLE; }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { (void)flags; return is(stream, STREAM) && is(event, EVENT) ? 0 : INVALID_HANDLE; }
int cuStreamBeginCapture_v2(void *stream, int mode) { (void)mode; if (!is(stream, STREAM)) return INVALID_HANDLE; ((Stream *)stream)->capturing = 1; return 0; }
int cuStreamEndCapture(void *stream, void **graph) {
  Stream *from = stream;
  if (!is(stream, STREAM) || !from->capturing) return INVALID_HANDLE;
  Stream *to = made(GRAPH, sizeof(Stream));
  to->count = from->count;
  memcpy(to->work, from->work, sizeof to->work);
  from->capturing = 0;
  *graph = to;
  return 0;
}
int cuEventCreate(void **event, unsigned flags) { (void)flags; *event = made(EVENT, sizeof(Event)); return 0; }
int cuEventRecord(void *event, void *stream) {
  if (!is(event, EVENT) || !is(stream, STREAM)) return INVALID_HANDLE;
  ((Event *)event)->time = now;
  return 0;
}
int cuEventQuery(void *event) { CHECK("cuEventQuery"); return !is(event, EVENT) ? INVALID_HANDLE : hanging ? NOT_READY : 0; }
int cuEventElapsedTime(float *milliseconds, void *first, void *second) { *milliseconds = (float)(((Event *)second)->time - ((Event *)first)->time); return 0; }
int cuEventDestroy_v2(void *event) { return gone(event, EVENT); }
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, const int *options, void **values) {
  CHECK("cuModuleLoadDataEx");
  if (strncmp(image, ".version", 8)) {
    for (unsigned i = 0; i < count; ++i) if (options[i] == 5) strcpy(values[i], "ptxas fatal: expected .version");
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
int cuModuleUnload(void *module) { return gone(module, MODULE); }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  char line[300];
  if (!is(module, MODULE)) return INVALID_HANDLE;
  snprintf(line, sizeof line, "\n%s\n", name);
  if (!strstr(((Module *)module)->names, line)) return NOT_FOUND;
  Function *found = made(FUNCTION, sizeof(Function));
  for (int i = 0; i < known_count; ++i) if (!strcmp(known[i].name, name)) found->run = known[i].run;
  *function = found;
  return 0;
}
static int run(const Work *work) { return work->function->run ? work->function->run(work->sizes, work->sizes + 3, work->arguments) : 0; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  CHECK("cuLaunchKernel");
  if (!is(function, FUNCTION) || !is(stream, STREAM) || shared || extra) return INVALID_HANDLE;
  if (!gx || !gy || !gz || bx * by * bz > 1024) return INVALID_VALUE;
  Work work = {function, {gx, gy, gz, bx, by, bz}, arguments};
  Stream *to = stream;
  now += 2.0;
  if (to->capturing) { to->work[to->count++] = work; return 0; }
  ++launched;
  return run(&work);
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags) {
  (void)flags;
  if (!is(graph, GRAPH)) return INVALID_HANDLE;
  Stream *copy = made(GRAPH, sizeof(Stream));
  memcpy(copy->work, ((Stream *)graph)->work, sizeof copy->work);
  copy->count = ((Stream *)graph)->count;
  *executable = copy;
  return 0;
}
int cuGraphLaunch(void *executable, void *stream) {
  CHECK("cuGraphLaunch");
  if (!is(executable, GRAPH) || !is(stream, STREAM)) return INVALID_HANDLE;
  ++replayed;
  Stream *graph = executable;
  for (int i = 0; i < graph->count; ++i) { int status = run(&graph->work[i]); if (status) return status; }
  return 0;
}
int cuGraphDestroy(void *graph) { return gone(graph, GRAPH); }
int cuGraphExecDestroy(void *executable) { return gone(executable, GRAPH); }
