// A libcuda and a libcublas without a GPU: memory is the host's, copies are memcpy, products are loops. The stub is as strict as the real
// libraries: a context must be current, addresses must be in live allocations, a capture runs nothing. Environment variables:
//
//   PPAL_STUB_DEVICES     how many devices there are (1)
//   PPAL_STUB_CAPABILITY  their compute capability (9.0)
//   PPAL_STUB_VERSION     the driver's version (12040)
//   PPAL_STUB_FAIL        NAME=CODE: the function NAME does nothing and returns CODE
//   PPAL_STUB_AFTER       the number of calls of this function that do not fail yet (0), counted while PPAL_STUB_FAIL names it
//   PPAL_STUB_CRASH       the function with this name ends the process
//   PPAL_STUB_HANG        the function with this name never returns
//   PPAL_STUB_INTEGERS    the status of every product of integers (0: the product runs)
//   PPAL_STUB_WRONG       not empty: a number of every product of integers is wrong
//   PPAL_STUB_LOG         the file to which calls are logged
#ifndef STUB_H
#define STUB_H

#include <stddef.h>
#include <stdint.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, INVALID_PTX = 218, ILLEGAL_ADDRESS = 700,
       NOT_FOUND = 500, CAPTURE_INVALIDATED = 901, CAPTURE_UNSUPPORTED = 900 };

// fails returns the code that the environment asks a function to return, or 0.
int fails(const char *name);

// setting returns an environment variable's value, or otherwise if it is missing or empty.
const char *setting(const char *name, const char *otherwise);

// logged writes a line to the log.
void logged(const char *format, ...);

// inside reports whether the bytes from p on lie in one live allocation.
int inside(uint64_t p, size_t bytes);

int has_context(void);

enum { MOST_ARGS = 128 };

// A piece of work on a stream. run returns a result code of the driver.
typedef struct work {
  int (*run)(const struct work *);
  uint64_t to, from;
  size_t bytes;
  void *function;
  uint64_t args[MOST_ARGS];
  struct work *next;
} work;

// submit runs w, or keeps a copy of w if the stream is being captured.
int submit(void *stream, const work *w);

int device_count(void);
#endif
