#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"

// A libnccl without a GPU. A group's transfers run when the group ends, one after the other; the k-th send of a device to another one
// meets the k-th receive there. In one process, what the real library would wait for without end is an error.
//
// Processes meet in a folder, which the id names: each rank makes a file there, and the k-th transfer between two ranks is a file. The
// end of a group waits for the files of its receives, so a group of a process must not need a later group of the same process.

// ncclResult_t
enum { INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };

enum { MOST_TRANSFERS = 1024 };

typedef struct comm {
  int rank, device, size;
  struct comm **all;   // of a process that has all devices
  char folder[128];    // of several processes
  unsigned *sent, *received; // transfers, by rank
} comm;

typedef struct { char bytes[128]; } unique_id;

typedef struct {
  comm *own;
  int peer, receives, met;
  uint64_t at;
  size_t bytes;
  void *stream;
} half;

static __thread half halves[MOST_TRANSFERS];
static __thread int count, depth, broken; // broken: a call of the group failed, and nothing of the group runs
static __thread comm *joining[16]; // of a group
static __thread int joins;

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
API int ncclGetUniqueId(unique_id *id) {
  int asked = fails("ncclGetUniqueId");
  if (asked) return asked;
  snprintf(id->bytes, sizeof id->bytes, "%s/nccl-XXXXXX", setting("TMPDIR", "/tmp"));
  return mkdtemp(id->bytes) ? 0 : INVALID_ARGUMENT;
}

// meet makes the files of the group's ranks, and waits for the files of all ranks.
static void meet(void) {
  char file[256];
  for (int i = 0; i < joins; i++) {
    snprintf(file, sizeof file, "%s/rank-%d", joining[i]->folder, joining[i]->rank);
    FILE *f = fopen(file, "w");
    if (f) fclose(f);
    logged("join device %d as %d of %d", joining[i]->device, joining[i]->rank, joining[i]->size);
  }
  for (int i = 0; i < joins; i++)
    for (int k = 0; k < joining[i]->size; k++) {
      snprintf(file, sizeof file, "%s/rank-%d", joining[i]->folder, k);
      while (access(file, F_OK)) usleep(200);
    }
  joins = 0;
}
API int ncclCommInitRank(comm **c, int n, unique_id id, int rank) {
  int asked = fails("ncclCommInitRank");
  if (asked) return asked;
  if (!has_context() || rank < 0 || rank >= n || !*id.bytes) return INVALID_ARGUMENT;
  *c = calloc(1, sizeof **c);
  **c = (comm){.rank = rank, .device = current_device(), .size = n, .sent = calloc((size_t)n, 4), .received = calloc((size_t)n, 4)};
  memcpy((*c)->folder, id.bytes, sizeof id.bytes);
  joining[joins++] = *c;
  if (!depth) meet();
  return 0;
}
static int leave(const char *how, comm *c) {
  logged("%s %d", how, c->rank);
  if (!c->all) return free(c->sent), free(c->received), free(c), 0;
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
  return asked ? broken = asked : add((half){c, peer, 0, 0, (uint64_t)from, bytes, stream}, type);
}
API int ncclRecv(void *to, size_t bytes, int type, int peer, comm *c, void *stream) {
  int asked = fails("ncclRecv");
  return asked ? broken = asked : add((half){c, peer, 1, 0, (uint64_t)to, bytes, stream}, type);
}

static int transfer(const work *w) {
  memcpy((void *)w->to, (void *)w->from, w->bytes);
  if (*setting("PPAL_STUB_WRONG_NCCL", "")) ((char *)w->to)[w->bytes - 1] ^= 1;
  return OK;
}

// pass_on writes a send to another process to a file.
static int pass_on(half *s) {
  char file[256], written[264];
  snprintf(file, sizeof file, "%s/%d-%d-%u", s->own->folder, s->own->rank, s->peer, s->own->sent[s->peer]++);
  snprintf(written, sizeof written, "%s.new", file);
  FILE *f = fopen(written, "wb");
  if (!f || fwrite((void *)s->at, 1, s->bytes, f) != s->bytes || fclose(f) || rename(written, file)) return 1;
  return logged("nccl %d to %d: %zu bytes", s->own->rank, s->peer, s->bytes), 0;
}

// take_in waits for the file of a receive.
static int take_in(half *r) {
  char file[256];
  snprintf(file, sizeof file, "%s/%d-%d-%u", r->own->folder, r->peer, r->own->rank, r->own->received[r->peer]++);
  while (access(file, F_OK)) usleep(200);
  FILE *f = fopen(file, "rb");
  void *bytes = malloc(r->bytes + 1);
  int same = f && fread(bytes, 1, r->bytes + 1, f) == r->bytes;
  if (f) fclose(f);
  unlink(file);
  int result = !same || submit_on(r->own->device, r->stream, &(work){.run = transfer, .to = r->at, .from = (uint64_t)bytes, .bytes = r->bytes});
  return free(bytes), result ? INVALID_USAGE : 0;
}

API int ncclGroupEnd(void) {
  int asked = fails("ncclGroupEnd"), result = 0, n = count;
  if (--depth > 0) return 0;
  count = 0;
  if (joins) meet();
  if (!asked) asked = broken;
  broken = 0;
  if (asked) return asked;
  for (int receives = 0; receives < 2; receives++) // all sends first: nobody waits for a send
    for (int i = 0; i < n; i++) {
      half *h = &halves[i];
      if (h->own->all || h->receives != receives) continue;
      h->met = 1;
      if (*setting("PPAL_STUB_HANG_NCCL", ""))
        stall(h->own->device, 1);
      else if ((receives ? take_in : pass_on)(h))
        result = 1;
    }
  for (int i = 0; i < n; i++) {
    half *s = &halves[i];
    if (s->receives || !s->own->all) continue;
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
