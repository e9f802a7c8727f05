//go:build gpu

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "transfers.h"

// Constants of NCCL's documentation.
enum { SUCCESS = 0 }; // ncclResult_t
enum { INT8 = 0 };    // ncclDataType_t

static void *find(ppal_nccl *l, const char *name, const char **lacks) {
  void *p = dlsym(l->library, name);
  if (!p) *lacks = name;
  return p;
}

int ppal_nccl_open(ppal_nccl *l, const char *file, char *why, size_t size) {
  memset(l, 0, sizeof *l);
  l->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!l->library) {
    snprintf(why, size, "%s", dlerror());
    return 1;
  }
  const char *lacks = NULL;
  l->version = find(l, "ncclGetVersion", &lacks);
  l->error_string = find(l, "ncclGetErrorString", &lacks);
  l->init_all = find(l, "ncclCommInitAll", &lacks);
  l->destroy = find(l, "ncclCommDestroy", &lacks);
  l->abort = find(l, "ncclCommAbort", &lacks);
  l->async_error = find(l, "ncclCommGetAsyncError", &lacks);
  l->group_start = find(l, "ncclGroupStart", &lacks);
  l->group_end = find(l, "ncclGroupEnd", &lacks);
  l->recv = find(l, "ncclRecv", &lacks);
  l->send = find(l, "ncclSend", &lacks);
  l->last_error = dlsym(l->library, "ncclGetLastError");
  if (!lacks) return 0;
  snprintf(why, size, "%s has no %s", file, lacks);
  dlclose(l->library);
  return 1;
}

int ppal_nccl_version(const ppal_nccl *l, int *version) { return l->version(version); }
int ppal_nccl_init(const ppal_nccl *l, void **comms, int devices, const int *ordinals) { return l->init_all(comms, devices, ordinals); }
int ppal_nccl_destroy(const ppal_nccl *l, void *comm) { return l->destroy(comm); }
int ppal_nccl_abort(const ppal_nccl *l, void *comm) { return l->abort(comm); }

int ppal_nccl_transfer(const ppal_nccl *l, void **comms, int devices, const uint64_t *streams, const ppal_transfer *list, int count,
                       const char **failed) {
  int result;
  for (int k = 0; k < devices; k++) { // an earlier transfer may have failed
    int earlier = SUCCESS;
    *failed = "ncclCommGetAsyncError";
    if ((result = l->async_error(comms[k], &earlier)) || (result = earlier)) return result;
  }
  *failed = "ncclGroupStart";
  if ((result = l->group_start())) return result;
  for (int i = 0; i < count && !result; i++) {
    const ppal_transfer *t = &list[i];
    *failed = "ncclSend";
    result = l->send((const void *)t->source, t->bytes, INT8, t->to, comms[t->from], (void *)streams[t->from]);
    if (result) break;
    *failed = "ncclRecv";
    result = l->recv((void *)t->target, t->bytes, INT8, t->from, comms[t->to], (void *)streams[t->to]);
  }
  int end = l->group_end(); // also after an error, to end the group
  if (result) return result;
  *failed = "ncclGroupEnd";
  return end;
}

const char *ppal_nccl_string(const ppal_nccl *l, int result) { return l->error_string(result); }

const char *ppal_nccl_last_error(const ppal_nccl *l, void *comm) {
  const char *text = l->last_error ? l->last_error(comm) : NULL;
  return text ? text : "";
}
