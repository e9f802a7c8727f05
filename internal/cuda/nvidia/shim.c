//go:build gpu

// Every driver function that the program calls (symbols.h) is a jump through a table. ppal_connect
// fills the table from libcuda.so.1. Before that, and for functions that the driver lacks, the jump
// leads to missing. The names are hidden, so that CUDA's own libraries find the driver's functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "shim.h"

enum { NOT_CONNECTED = 34 }; // CUDA_ERROR_STUB_LIBRARY

__attribute__((used)) static int missing(void) { return NOT_CONNECTED; }

#define SYMBOL(i, name) (void *)missing,
__attribute__((visibility("hidden"))) void *ppal_driver[] = {
#include "symbols.h"
};
#undef SYMBOL

#define SYMBOL(i, name) #name,
static const char *const names[] = {
#include "symbols.h"
};
#undef SYMBOL

#if defined(__x86_64__)
#define JUMP(i) "  movq ppal_driver+8*" #i "(%rip), %r11\n  jmp *%r11\n"
#elif defined(__aarch64__)
#define JUMP(i) "  adrp x16, ppal_driver+8*" #i "\n  ldr x16, [x16, :lo12:ppal_driver+8*" #i "]\n  br x16\n"
#else
#error "GPUs are supported on amd64 and arm64 only"
#endif

#define SYMBOL(i, name) \
  __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n" JUMP(i) ".size " #name ", .-" #name "\n");
#include "symbols.h"
#undef SYMBOL

// cu calls cuInit when the program starts, and ends the process if cuInit fails.
__attribute__((visibility("hidden"))) int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}

static void *library;

int ppal_connect(const char *file, char *why, size_t size) {
  if (library) return 0;
  library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(why, size, "%s", dlerror());
    return 1;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *found = dlsym(library, names[i]);
    if (found) ppal_driver[i] = found;
  }
  return 0;
}

int ppal_init(void) {
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
  return init ? init(0) : NOT_CONNECTED;
}
