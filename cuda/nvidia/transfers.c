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
  l->get_id = find(l, "ncclGetUniqueId", &lacks);
  l->init_rank = find(l, "ncclCommInitRank", &lacks);
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
int ppal_nccl_get_id(const ppal_nccl *l, ppal_nccl_id *id) { return l->get_id(id); }
int ppal_nccl_init_rank(const ppal_nccl *l, void **comm, int devices, const ppal_nccl_id *id, int rank) {
  return l->init_rank(comm, devices, *id, rank);
}
int ppal_nccl_group_start(const ppal_nccl *l) { return l->group_start(); }
int ppal_nccl_group_end(const ppal_nccl *l) { return l->group_end(); }
int ppal_nccl_destroy(const ppal_nccl *l, void *comm) { return l->destroy(comm); }
int ppal_nccl_abort(const ppal_nccl *l, void *comm) { return l->abort(comm); }

int ppal_nccl_async_error(const ppal_nccl *l, void **comms, int devices, void **failing) {
  for (int k = 0; k < devices; k++) {
    int earlier = SUCCESS, result = l->async_error(comms[k], &earlier);
    *failing = comms[k];
    if (result || (result = earlier)) return result;
  }
  return SUCCESS;
}

int ppal_nccl_transfer(const ppal_nccl *l, void **comms, int first, int devices, const uint64_t *streams, const ppal_transfer *list, int count,
                       const char **failed) {
  void *failing;
  *failed = "ncclCommGetAsyncError"; // an earlier transfer may have failed
  int result = ppal_nccl_async_error(l, comms, devices, &failing);
  if (result) return result;
  *failed = "ncclGroupStart";
  if ((result = l->group_start())) return result;
  for (int i = 0; i < count && !result; i++) {
    const ppal_transfer *t = &list[i];
    int from = t->from - first, to = t->to - first;
    if (from >= 0 && from < devices) {
      *failed = "ncclSend";
      result = l->send((const void *)t->source, t->bytes, INT8, t->to, comms[from], (void *)streams[from]);
    }
    if (!result && to >= 0 && to < devices) {
      *failed = "ncclRecv";
      result = l->recv((void *)t->target, t->bytes, INT8, t->from, comms[to], (void *)streams[to]);
    }
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
