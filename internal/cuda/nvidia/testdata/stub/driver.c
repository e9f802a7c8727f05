#define _GNU_SOURCE
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"

const char *setting(const char *name, const char *otherwise) {
  const char *v = getenv(name);
  return v && *v ? v : otherwise;
}

// named reports whether a setting names a function.
static int named(const char *setting_name, const char *name) { return strcmp(setting(setting_name, ""), name) == 0; }

int fails(const char *name) {
  if (named("PPAL_STUB_CRASH", name)) abort();
  while (named("PPAL_STUB_HANG", name)) sleep(1);
  const char *asked = setting("PPAL_STUB_FAIL", "");
  size_t n = strlen(name);
  if (strncmp(asked, name, n) != 0 || asked[n] != '=') return 0;
  static atomic_int calls;
  return calls++ < atoi(setting("PPAL_STUB_AFTER", "0")) ? 0 : atoi(asked + n + 1);
}

void logged(const char *format, ...) {
  const char *file = setting("PPAL_STUB_LOG", NULL);
  FILE *f = file ? fopen(file, "a") : NULL;
  if (!f) return;
  va_list args;
  va_start(args, format);
  vfprintf(f, format, args);
  va_end(args);
  fputc('\n', f);
  fclose(f);
}

#define BEGIN(name)                   \
  do {                                \
    int asked = fails(#name);         \
    if (asked) return asked;          \
  } while (0)
#define BEGIN_IN_CONTEXT(name)        \
  BEGIN(name);                        \
  if (!has_context()) return INVALID_CONTEXT

// Start, devices, contexts.

API int cuInit(unsigned flags) {
  BEGIN(cuInit);
  return flags ? INVALID_VALUE : OK;
}
API int cuDriverGetVersion(int *v) { return *v = atoi(setting("PPAL_STUB_VERSION", "12040")), OK; }
int device_count(void) { return atoi(setting("PPAL_STUB_DEVICES", "1")); }
API int cuDeviceGetCount(int *n) {
  BEGIN(cuDeviceGetCount);
  return *n = device_count(), OK;
}
API int cuDeviceGet(int *d, int ordinal) { return *d = ordinal, OK; }
API int cuDeviceGetName(char *name, int size, int d) {
  const char *model = setting("PPAL_STUB_NAME", NULL); // of all devices
  return model ? snprintf(name, size, "%s", model) : snprintf(name, size, "Stub %d", d), OK;
}
API int cuDeviceTotalMem_v2(size_t *bytes, int d) { return (void)d, *bytes = 1 << 20, OK; }
API int cuDeviceGetAttribute(int *v, int what, int d) {
  const char *capability = setting("PPAL_STUB_CAPABILITY", "9.0");
  (void)d;
  switch (what) {
  case 16: *v = 132; return OK;                                // multiprocessors
  case 75: *v = atoi(capability); return OK;                   // major
  case 76: *v = atoi(strchr(capability, '.') + 1); return OK;  // minor
  }
  return INVALID_VALUE;
}

enum { MOST_DEVICES = 16 };
static char primary[MOST_DEVICES]; // the addresses are the primary contexts
static int retained;
static __thread void *current;

static int is_context(void *c) { return (char *)c >= primary && (char *)c < primary + MOST_DEVICES; }

int has_context(void) { return retained > 0 && is_context(current); }

API int cuDevicePrimaryCtxRetain(void **c, int d) {
  BEGIN(cuDevicePrimaryCtxRetain);
  logged("retain %d", d);
  return retained++, *c = &primary[d], OK;
}
API int cuDevicePrimaryCtxRelease_v2(int d) {
  logged("release %d", d);
  return retained-- > 0 ? OK : INVALID_CONTEXT;
}
API int cuCtxGetCurrent(void **c) { return *c = current, OK; }
API int cuCtxSetCurrent(void *c) {
  BEGIN(cuCtxSetCurrent);
  return current = c, OK;
}

API int cuGetErrorName(int code, const char **name) {
  switch (code) {
  case INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; return OK;
  case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return OK;
  case 100: *name = "CUDA_ERROR_NO_DEVICE"; return OK;
  case INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; return OK;
  case INVALID_PTX: *name = "CUDA_ERROR_INVALID_PTX"; return OK;
  case NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; return OK;
  case ILLEGAL_ADDRESS: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return OK;
  case CAPTURE_UNSUPPORTED: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; return OK;
  case CAPTURE_INVALIDATED: *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"; return OK;
  }
  return *name = NULL, INVALID_VALUE;
}
API int cuGetErrorString(int code, const char **text) {
  const char *name;
  if (cuGetErrorName(code, &name)) return *text = NULL, INVALID_VALUE;
  return *text = code == OUT_OF_MEMORY ? "out of memory" : "a sentence of the stub", OK;
}

// Memory.

enum { MOST = 1 << 16 };
static struct { uint64_t at; size_t bytes; } live[MOST];
static int ever; // the entries that were ever used
static atomic_flag changing = ATOMIC_FLAG_INIT; // the list: several threads may allocate

static void lock(void) { while (atomic_flag_test_and_set(&changing)) usleep(1); }
static int unlock(int result) { return atomic_flag_clear(&changing), result; }

int inside(uint64_t p, size_t bytes) {
  for (int i = 0; i < ever; i++)
    if (live[i].at && p >= live[i].at && p + bytes <= live[i].at + live[i].bytes) return 1;
  return 0;
}
API int cuMemAlloc_v2(uint64_t *p, size_t bytes) {
  BEGIN_IN_CONTEXT(cuMemAlloc_v2);
  if (!bytes) return INVALID_VALUE;
  lock();
  for (int i = 0; i < MOST; i++) {
    if (live[i].at) continue;
    *p = live[i].at = (uint64_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    live[i].bytes = bytes;
    if (i >= ever) ever = i + 1;
    memset((void *)*p, 0xA5, bytes); // like a GPU's memory, not zero
    logged("alloc %zu", bytes);
    return unlock(OK);
  }
  return unlock(OUT_OF_MEMORY);
}
API int cuMemFree_v2(uint64_t p) {
  BEGIN_IN_CONTEXT(cuMemFree_v2);
  lock();
  for (int i = 0; i < ever; i++) {
    if (live[i].at != p) continue;
    logged("free %zu", live[i].bytes);
    free((void *)p);
    live[i].at = 0;
    return unlock(OK);
  }
  return unlock(INVALID_VALUE);
}
API int cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN_IN_CONTEXT(cuMemGetInfo_v2);
  return *free = 1000, *total = 1 << 20, OK;
}
static struct { uint64_t at; size_t bytes; } pins[MOST];

// reachable reports whether a kernel may access memory: the device's, or the host's that is pinned.
static int reachable(uint64_t p, size_t bytes) {
  for (int i = 0; i < MOST && pins[i].at; i++)
    if (p >= pins[i].at && p + bytes <= pins[i].at + pins[i].bytes) return 1;
  return inside(p, bytes);
}
API int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
  BEGIN_IN_CONTEXT(cuMemHostAlloc);
  (void)flags;
  *p = malloc(bytes);
  for (int i = 0; i < MOST; i++)
    if (!pins[i].at) return pins[i].at = (uint64_t)*p, pins[i].bytes = bytes, logged("pin %zu", bytes), OK;
  return OUT_OF_MEMORY;
}
API int cuMemHostGetDevicePointer_v2(uint64_t *p, void *host, unsigned flags) {
  BEGIN_IN_CONTEXT(cuMemHostGetDevicePointer_v2);
  return !flags && reachable((uint64_t)host, 1) ? (*p = (uint64_t)host, logged("map"), OK) : INVALID_VALUE;
}
API int cuMemFreeHost(void *p) {
  BEGIN_IN_CONTEXT(cuMemFreeHost);
  for (int i = 0; i < MOST; i++)
    if (pins[i].at == (uint64_t)p) pins[i].bytes = 0, pins[i].at = 1; // the list has no gaps
  return free(p), logged("unpin"), OK;
}

// Streams and events.

typedef struct {
  void *context;
  int capturing;
  work *first, **last;
} stream;
typedef struct { void *context; double at; } event;

static double clock_of_records;

API int cuStreamCreate(stream **s, unsigned flags) {
  BEGIN_IN_CONTEXT(cuStreamCreate);
  logged("stream flags %u", flags);
  return *s = calloc(1, sizeof **s), (*s)->context = current, OK;
}
API int cuStreamDestroy_v2(stream *s) {
  BEGIN_IN_CONTEXT(cuStreamDestroy_v2);
  return free(s), OK;
}
API int cuStreamSynchronize(stream *s) {
  BEGIN_IN_CONTEXT(cuStreamSynchronize);
  return s && s->capturing ? CAPTURE_UNSUPPORTED : OK;
}
API int cuStreamWaitEvent(stream *s, event *e, unsigned flags) {
  BEGIN_IN_CONTEXT(cuStreamWaitEvent);
  if (s && s->context != current) return INVALID_CONTEXT;
  return e && !flags ? OK : INVALID_VALUE; // an event of another context is allowed
}
API int cuEventCreate(event **e, unsigned flags) {
  BEGIN_IN_CONTEXT(cuEventCreate);
  return (void)flags, *e = calloc(1, sizeof **e), (*e)->context = current, OK;
}
API int cuEventDestroy_v2(event *e) { return free(e), OK; }
API int cuEventRecord(event *e, stream *s) {
  BEGIN_IN_CONTEXT(cuEventRecord);
  if ((s && s->context != current) || e->context != current) return INVALID_CONTEXT;
  return e->at = ++clock_of_records, OK;
}
API int cuEventElapsedTime(float *ms, event *from, event *to) {
  BEGIN_IN_CONTEXT(cuEventElapsedTime);
  return *ms = (float)(to->at - from->at), OK;
}

int submit(void *handle, const work *w) {
  stream *s = handle;
  if (s && s->context != current) return INVALID_CONTEXT;
  if (!s || !s->capturing) return w->run(w);
  work *kept = malloc(sizeof *kept);
  *kept = *w;
  kept->next = NULL;
  *s->last = kept;
  s->last = &kept->next;
  return OK;
}

// Copies.

static int upload(const work *w) {
  return inside(w->to, w->bytes) ? (memcpy((void *)w->to, (void *)w->from, w->bytes), OK) : ILLEGAL_ADDRESS;
}
static int download(const work *w) {
  return inside(w->from, w->bytes) ? (memcpy((void *)w->to, (void *)w->from, w->bytes), OK) : ILLEGAL_ADDRESS;
}
static int copy(const work *w) { return inside(w->to, w->bytes) ? download(w) : ILLEGAL_ADDRESS; }
static int clear(const work *w) { return inside(w->to, w->bytes) ? (memset((void *)w->to, (int)w->args[0], w->bytes), OK) : ILLEGAL_ADDRESS; }

API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s) {
  BEGIN_IN_CONTEXT(cuMemcpyHtoDAsync_v2);
  return submit(s, &(work){.run = upload, .to = to, .from = (uint64_t)from, .bytes = bytes});
}
API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s) {
  BEGIN_IN_CONTEXT(cuMemcpyDtoHAsync_v2);
  return submit(s, &(work){.run = download, .to = (uint64_t)to, .from = from, .bytes = bytes});
}
API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *s) {
  BEGIN_IN_CONTEXT(cuMemcpyDtoDAsync_v2);
  return submit(s, &(work){.run = copy, .to = to, .from = from, .bytes = bytes});
}
API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *s) {
  BEGIN_IN_CONTEXT(cuMemsetD8Async);
  return submit(s, &(work){.run = clear, .to = to, .bytes = bytes, .args = {value}});
}

// Modules: PTX is any text with a .version, and has the kernels that its .entry lines name.

static const char complaint[] = "ptxas application ptx input, line 1; fatal : Missing .version directive";

API int cuModuleLoadDataEx(char **module, const char *ptx, unsigned n, const int *options, void **values) {
  BEGIN_IN_CONTEXT(cuModuleLoadDataEx);
  if (!strstr(ptx, ".version")) {
    if (n == 2 && options[0] == 5 && options[1] == 6) snprintf(values[0], (size_t)values[1], "%s", complaint);
    return INVALID_PTX;
  }
  return *module = strdup(ptx), OK;
}
API int cuModuleUnload(char *module) { return free(module), OK; }
API int cuModuleGetFunction(char **f, char *module, const char *name) {
  BEGIN_IN_CONTEXT(cuModuleGetFunction);
  char entry[256];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  return strstr(module, entry) ? (*f = strdup(name), OK) : NOT_FOUND;
}

// Kernels compiled for the host (internal/cuda/kernels/device/fibers.h), if the library is linked with them.
__attribute__((weak)) int kernels_count(void);
__attribute__((weak)) const char *kernel_name(int i);
__attribute__((weak)) int kernel_params(int i);
__attribute__((weak)) int kernel_param_size(int i, int k);
__attribute__((weak)) int kernel_launch(int i, const unsigned *grid, const unsigned *block, const uint64_t *args);

// run_kernel runs a kernel: to is the kernel's number, and grid and block are at the end of the arguments.
static int run_kernel(const work *w) {
  unsigned shape[6];
  for (int i = 0; i < 6; i++) shape[i] = (unsigned)w->args[MOST_ARGS - 6 + i];
  return kernel_launch((int)w->to, shape, shape + 3, w->args) ? ILLEGAL_ADDRESS : OK;
}

// The stub's own kernels: store(p, a, b, c) writes a, b and c to p; add(p, x) adds the float32 x to the float32 at p.

static int run_store(const work *w) {
  return reachable(w->args[0], 24) ? (memcpy((void *)w->args[0], &w->args[1], 24), OK) : ILLEGAL_ADDRESS;
}
static int run_add(const work *w) {
  float x;
  memcpy(&x, &w->args[1], sizeof x); // the low half, as the device reads it
  return inside(w->args[0], 4) ? (*(float *)w->args[0] += x, OK) : ILLEGAL_ADDRESS;
}

API int cuLaunchKernel(char *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s,
                       void **params, void **extra) {
  BEGIN_IN_CONTEXT(cuLaunchKernel);
  if (extra || !gx || !gy || !gz || !bx || !by || !bz || gy > 65535 || gz > 65535 || bz > 64 || bx * by * bz > 1024) return INVALID_VALUE;
  logged("launch %s grid %u %u %u block %u %u %u shared %u", f, gx, gy, gz, bx, by, bz, shared);
  for (int k = 0; kernels_count && k < kernels_count(); k++) {
    if (strcmp(kernel_name(k), f) != 0) continue;
    if (kernel_params(k) > MOST_ARGS - 6) return INVALID_VALUE; // the last six are the shape
    work w = {.run = run_kernel, .to = (uint64_t)k};
    for (int i = 0; i < kernel_params(k); i++) memcpy(&w.args[i], params[i], (size_t)kernel_param_size(k, i)); // as much as the device reads
    unsigned shape[] = {gx, gy, gz, bx, by, bz};
    for (int i = 0; i < 6; i++) w.args[MOST_ARGS - 6 + i] = shape[i];
    return submit(s, &w);
  }
  work w = {.run = strcmp(f, "add") == 0 ? run_add : run_store};
  int count = w.run == run_add ? 2 : 4;
  for (int i = 0; i < count; i++) w.args[i] = *(uint64_t *)params[i];
  return submit(s, &w);
}

// Captures.

API int cuStreamBeginCapture_v2(stream *s, int mode) {
  BEGIN_IN_CONTEXT(cuStreamBeginCapture_v2);
  if (!s || s->capturing || mode != 2) return INVALID_VALUE; // relaxed: calls come from several threads
  logged("begin capture");
  return s->capturing = 1, s->last = &s->first, s->first = NULL, OK;
}
API int cuStreamEndCapture(stream *s, work **graph) {
  BEGIN_IN_CONTEXT(cuStreamEndCapture);
  if (!s->capturing) return INVALID_VALUE;
  logged("end capture");
  return s->capturing = 0, *graph = s->first, OK;
}
static int instantiate(work **exec, work *graph) {
  *exec = calloc(1, sizeof **exec);
  work **last = &(*exec)->next;
  for (; graph; graph = graph->next, last = &(*last)->next) *(*last = malloc(sizeof **last)) = *graph;
  return *last = NULL, OK;
}
API int cuGraphInstantiateWithFlags(work **exec, work *graph, unsigned long long flags) {
  BEGIN_IN_CONTEXT(cuGraphInstantiateWithFlags);
  return flags ? INVALID_VALUE : instantiate(exec, graph);
}
API int cuGraphInstantiate_v2(work **exec, work *graph, void *error, char *log, size_t size) {
  BEGIN_IN_CONTEXT(cuGraphInstantiate_v2);
  logged("instantiate as before CUDA 11.4");
  return error || log || size ? INVALID_VALUE : instantiate(exec, graph);
}
static void discard(work *w) {
  while (w) {
    work *next = w->next;
    free(w);
    w = next;
  }
}
API int cuGraphDestroy(work *graph) { return discard(graph), logged("destroy graph"), OK; }
API int cuGraphExecDestroy(work *exec) { return discard(exec), logged("destroy instance"), OK; }
API int cuGraphLaunch(work *exec, void *s) {
  BEGIN_IN_CONTEXT(cuGraphLaunch);
  (void)s;
  for (const work *w = exec->next; w; w = w->next) {
    int result = w->run(w);
    if (result) return result;
  }
  return OK;
}
