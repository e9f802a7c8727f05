// The driver's library, opened at run time.
#ifndef PPAL_SHIM_H
#define PPAL_SHIM_H

#include <stddef.h>

// ppal_connect opens the driver's library and fills the table of jumps, once. It returns 0, or 1
// with the loader's reason in why.
int ppal_connect(const char *file, char *why, size_t size);

// ppal_init calls the driver's cuInit. The shim's own cuInit, which cu calls when the program
// starts, always succeeds.
int ppal_init(void);

#endif
