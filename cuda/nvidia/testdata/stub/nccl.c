#include <stdlib.h>
#include <string.h>

#include "stub.h"

// A libnccl without a GPU. A group's transfers run when the group ends, one after the other; the k-th send of a device to another one
// meets the k-th receive there. What the real library would wait for without end is an error.

// ncclResult_t
enum { INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };

enum { MOST_TRANSFERS = 1024 };

typedef struct comm {
  int rank, device, size;
  struct comm **all;
} comm;

typedef struct {
  comm *own;
  int peer, receives, met;
  uint64_t at;
  size_t bytes;
  void *stream;
} half;

static half halves[MOST_TRANSFERS];
static int count, depth;

API int ncclGetVersion(int *v) { return *v = atoi(setting("PPAL_STUB_NCCL_VERSION", "22105")), 0; }
API const char *ncclGetErrorString(int result) { return result == 2 ? "unhandled system error" : "an error of the stub"; }
API const char *ncclGetLastError(comm *c) { return (void)c, setting("PPAL_STUB_LAST_ERROR", ""); }

API int ncclCommInitAll(comm **comms, int n, const int *devices) {
  int asked = fails("ncclCommInitAll");
  if (asked) return asked;
  if (n < 1 || n > device_count()) return INVALID_ARGUMENT;
  comm **all = calloc((size_t)n, sizeof *all);
  for (int k = 0; k < n; k++) {
    if (devices[k] < 0 || devices[k] >= device_count()) return INVALID_ARGUMENT;
    all[k] = comms[k] = calloc(1, sizeof *comms[k]);
    *comms[k] = (comm){.rank = k, .device = devices[k], .size = n, .all = all};
    logged("join device %d as %d of %d", devices[k], k, n);
  }
  return 0;
}
static int leave(const char *how, comm *c) {
  logged("%s %d", how, c->rank);
  int left = 0;
  c->all[c->rank] = NULL;
  for (int k = 0; k < c->size; k++) left += c->all[k] != NULL;
  if (!left) free(c->all);
  return free(c), 0;
}
API int ncclCommDestroy(comm *c) {
  int asked = fails("ncclCommDestroy");
  return asked ? asked : leave("destroy", c);
}
API int ncclCommAbort(comm *c) { return stall(c->device, 0), leave("abort", c); }
API int ncclCommGetAsyncError(comm *c, int *result) { return (void)c, *result = fails("ncclCommGetAsyncError"), 0; }

API int ncclGroupStart(void) {
  int asked = fails("ncclGroupStart");
  return asked ? asked : (depth++, 0);
}

static int add(half h, int type) {
  if (type != 0 || !depth || count == MOST_TRANSFERS || h.peer < 0 || h.peer >= h.own->size || h.peer == h.own->rank ||
      !inside(h.at, h.bytes) || !owns_stream(h.own->device, h.stream))
    return INVALID_ARGUMENT;
  return halves[count++] = h, 0;
}
API int ncclSend(const void *from, size_t bytes, int type, int peer, comm *c, void *stream) {
  int asked = fails("ncclSend");
  return asked ? asked : add((half){c, peer, 0, 0, (uint64_t)from, bytes, stream}, type);
}
API int ncclRecv(void *to, size_t bytes, int type, int peer, comm *c, void *stream) {
  int asked = fails("ncclRecv");
  return asked ? asked : add((half){c, peer, 1, 0, (uint64_t)to, bytes, stream}, type);
}

static int transfer(const work *w) {
  memcpy((void *)w->to, (void *)w->from, w->bytes);
  if (*setting("PPAL_STUB_WRONG_NCCL", "")) ((char *)w->to)[w->bytes - 1] ^= 1;
  return OK;
}

API int ncclGroupEnd(void) {
  int asked = fails("ncclGroupEnd"), result = 0, n = count;
  if (--depth > 0) return 0;
  count = 0;
  if (asked) return asked;
  for (int i = 0; i < n; i++) {
    half *s = &halves[i];
    if (s->receives) continue;
    half *r = NULL;
    for (int k = 0; k < n && !r; k++)
      if (halves[k].receives && !halves[k].met && halves[k].own->all == s->own->all && halves[k].own->rank == s->peer &&
          halves[k].peer == s->own->rank)
        r = &halves[k];
    if (!r || r->bytes != s->bytes) return INVALID_USAGE;
    r->met = 1;
    if (*setting("PPAL_STUB_HANG_NCCL", "")) {
      stall(s->own->device, 1), stall(r->own->device, 1);
      continue;
    }
    logged("nccl %d to %d: %zu bytes", s->own->rank, s->peer, s->bytes);
    if (submit_on(r->own->device, r->stream, &(work){.run = transfer, .to = r->at, .from = s->at, .bytes = s->bytes})) result = 1;
  }
  for (int i = 0; i < n; i++)
    if (halves[i].receives && !halves[i].met) return INVALID_USAGE;
  return result;
}
