// The NCCL functions that transfers need, looked up at run time. They are the same in every NCCL
// from 2.7 on.
#ifndef PPAL_TRANSFERS_H
#define PPAL_TRANSFERS_H

#include <stddef.h>
#include <stdint.h>

// ppal_nccl_id is NCCL's ncclUniqueId: what processes need to find each other.
typedef struct ppal_nccl_id { char bytes[128]; } ppal_nccl_id;

typedef struct ppal_nccl {
  void *library;
  int (*version)(int *version);
  const char *(*error_string)(int result);
  const char *(*last_error)(void *comm); // null before NCCL 2.13
  int (*init_all)(void **comms, int devices, const int *ordinals);
  int (*get_id)(ppal_nccl_id *id);
  int (*init_rank)(void **comm, int devices, ppal_nccl_id id, int rank); // on the device of the current context
  int (*destroy)(void *comm);
  int (*abort)(void *comm);
  int (*async_error)(void *comm, int *result);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*send)(const void *from, size_t count, int type, int to, void *comm, void *stream);
  int (*recv)(void *to, size_t count, int type, int from, void *comm, void *stream);
} ppal_nccl;

// ppal_nccl_open fills l from a file, or returns 1 with the reason in why.
int ppal_nccl_open(ppal_nccl *l, const char *file, char *why, size_t size);

// The wrappers return a ncclResult_t.
int ppal_nccl_version(const ppal_nccl *l, int *version);
int ppal_nccl_init(const ppal_nccl *l, void **comms, int devices, const int *ordinals);
int ppal_nccl_get_id(const ppal_nccl *l, ppal_nccl_id *id);
int ppal_nccl_init_rank(const ppal_nccl *l, void **comm, int devices, const ppal_nccl_id *id, int rank);
int ppal_nccl_group_start(const ppal_nccl *l);
int ppal_nccl_group_end(const ppal_nccl *l);
int ppal_nccl_destroy(const ppal_nccl *l, void *comm);
int ppal_nccl_abort(const ppal_nccl *l, void *comm);

typedef struct ppal_transfer {
  int from, to; // numbers of devices in the communicator
  uint64_t source, target;
  size_t bytes;
} ppal_transfer;

// ppal_nccl_transfer queues this process's sends and receives of a group of transfers. The process has
// the devices from number first on. failed names the call that failed.
int ppal_nccl_transfer(const ppal_nccl *l, void **comms, int first, int devices, const uint64_t *streams, const ppal_transfer *list, int count,
                       const char **failed);

// ppal_nccl_async_error returns the error of earlier transfers, or 0. failing is the communicator.
int ppal_nccl_async_error(const ppal_nccl *l, void **comms, int devices, void **failing);

const char *ppal_nccl_string(const ppal_nccl *l, int result);

// ppal_nccl_last_error describes the last error, of a communicator or (null) of any, or returns "".
const char *ppal_nccl_last_error(const ppal_nccl *l, void *comm);

#endif
