//go:build gpu

// A block's threads as fibers of one thread.
#include "fibers.h"
#include "host.h"
#include <deque>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace emulated {

dim3 thread_index, block_index, block_size, grid_size;

namespace {

// A Context is a stack and the position at which the code continues.
#ifdef __x86_64__
struct Context {
  void *sp;
};

// change saves the callee-saved registers on one stack and restores them from the other.
__attribute__((naked, noinline)) void change(Context *, Context *) {
  __asm__("pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
          "movq %rsp, (%rdi)\n movq (%rsi), %rsp\n"
          "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}

void prepare(Context *c, char *stack, size_t bytes, void (*f)()) {
  void **sp = (void **)(stack + bytes);
  *--sp = 0; // as a call leaves the stack: 8 above a multiple of 16
  *--sp = (void *)f;
  for (int i = 0; i < 6; i++) *--sp = 0;
  c->sp = sp;
}
#else
typedef ucontext_t Context;

void change(Context *from, Context *to) { swapcontext(from, to); }

void prepare(Context *c, char *stack, size_t bytes, void (*f)()) {
  getcontext(c);
  c->uc_stack.ss_sp = stack;
  c->uc_stack.ss_size = bytes;
  c->uc_link = 0;
  makecontext(c, f, 0);
}
#endif

const size_t stack_bytes = 256 << 10;
const size_t colour = 448; // the distance between the stacks' tops modulo a page, so that the stacks do not share cache sets
const int warp = 32, max_threads = 1024;

// A Gate opens for all waiting threads when the last thread arrives.
struct Gate {
  int arrived, wanted;
  unsigned opened; // the number of times
};

struct Fiber {
  Context context;
  size_t place; // index in fibers
  dim3 thread;
  int number;        // of the thread
  const Gate *waits; // null: the fiber runs, or will run threads that have not begun
  unsigned since;
};

const int words = 3; // the most that a thread gives to the others of the warp, in 8 bytes

struct Warp {
  Gate gate;
  uint64_t slots[2][warp][words]; // by the parity of the exchange: a thread reads one while others write the next
};

// Copies are a thread's copies to shared memory that have not happened yet.
struct Copies {
  struct Copy {
    void *to;
    const void *from;
    bool there;
  };
  std::vector<Copy> open; // of the present group
  std::deque<std::vector<Copy>> groups;
};

Context scheduler;
std::vector<Fiber *> fibers; // created on demand, and kept
Fiber *current;
size_t used; // fibers of this block
int threads, begun, ended;
bool backwards; // the last thread and block first
Gate block_gate;
Warp warps[max_threads / warp];
Copies copies[max_threads];

// Products are a thread's parts of products of warpgroups that have not happened yet.
struct Products {
  struct Product {
    int *sum, columns;
    const signed char *a, *b;
  };
  std::vector<Product> open;
  std::deque<std::vector<Product>> groups;
};
Products products[max_threads];
Erased kernel;
Call kernel_call;
const uint64_t *kernel_args;

dim3 index_of(int t) {
  dim3 d;
  d.x = t % block_size.x;
  d.y = t / block_size.x % block_size.y;
  d.z = t / (block_size.x * block_size.y);
  return d;
}

void run();

// fiber returns the k-th fiber, and creates the fiber on demand.
Fiber *fiber(size_t k) {
  if (k == fibers.size()) {
    void *stack = mmap(0, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) {
      perror("host kernels: no memory for a stack");
      abort();
    }
    Fiber *f = new Fiber();
    f->place = k;
    prepare(&f->context, (char *)stack, stack_bytes - k % 128 * colour, run);
    fibers.push_back(f);
  }
  return fibers[k];
}

// next returns a fiber that can continue: one for threads that have not begun, else the first
// waiting fiber behind the current one whose gate has opened; null if there is none.
Fiber *next() {
  if (begun < threads) return fiber(used++);
  for (size_t i = 0, k = current ? current->place : 0; i < used; i++) {
    k = k + 1 < used ? k + 1 : 0;
    Fiber *f = fibers[k];
    if (f->waits && f->waits->opened != f->since) return f;
  }
  return 0;
}

// leave continues with another fiber or, if no fiber can continue, with run_block.
void leave(Context *self) {
  Fiber *f = next();
  current = f;
  if (!f) {
    change(self, &scheduler);
    return;
  }
  f->waits = 0;
  thread_index = f->thread;
  change(self, &f->context);
}

// run is a fiber's code: it runs threads one after the other until none is left. A thread that
// waits keeps the fiber.
void run() {
  for (;;) {
    Fiber *self = current;
    while (begun < threads) {
      self->number = backwards ? threads - 1 - begun : begun;
      self->thread = thread_index = index_of(self->number);
      begun++;
      kernel_call(kernel, kernel_args);
      ended++;
    }
    leave(&self->context);
  }
}

// pass arrives at a gate and returns when the gate has opened.
void pass(Gate &g) {
  if (++g.arrived == g.wanted) {
    g.arrived = 0;
    g.opened++;
    return;
  }
  Fiber *self = current;
  self->waits = &g;
  self->since = g.opened;
  leave(&self->context);
}

// run_block runs a block, and reports whether all threads ended.
bool run_block() {
  begun = ended = 0;
  used = 0;
  current = 0;
  block_gate = Gate{0, threads, 0};
  for (int w = 0; w * warp < threads; w++) warps[w].gate = Gate{0, threads - w * warp < warp ? threads - w * warp : warp, 0};
  leave(&scheduler);
  return ended == threads;
}

struct Known {
  const char *name;
  Erased f;
  Call call;
  int params;
  const int *sizes;
};

std::vector<Known> &known() {
  static std::vector<Known> list;
  return list;
}

} // namespace

void add(const char *name, Erased f, Call call, int params, const int *sizes) {
  known().push_back(Known{name, f, call, params, sizes});
}

void barrier() { pass(block_gate); }

// give gives 8-byte words to the warp's threads and returns the words of all of its threads.
template <class T> static const uint64_t (*give(const T &mine))[words] {
  static_assert(sizeof mine <= sizeof warps[0].slots[0][0], "too much for a slot");
  Warp &w = warps[current->number / warp];
  uint64_t(*slots)[words] = w.slots[w.gate.opened & 1];
  memcpy(slots[current->number % warp], &mine, sizeof mine);
  pass(w.gate);
  return slots;
}

uint64_t exchange(uint64_t bits, int delta, int width) {
  unsigned lane = current->number % warp, from = lane + delta;
  const uint64_t(*slots)[words] = give(bits);
  return from < (lane & -width) + width && from < warp ? slots[from][0] : bits; // width is a power of two
}

namespace {

// line collects a row of the first factor, or a column of the second: the words at and at + step of
// four neighbouring lanes.
template <class T> void line(T &to, const uint64_t (*lanes)[words], int at, int step) {
  for (int t = 0; t < 4; t++) {
    memcpy((char *)to + 4 * t, (const char *)lanes[t] + at, 4);
    memcpy((char *)to + 16 + 4 * t, (const char *)lanes[t] + at + step, 4);
  }
}

// Lines are the two rows of the first factor and the two columns of the second, 32 bytes each,
// whose products a thread adds.
template <class T> struct Lines {
  T rows[2][32 / sizeof(T)], columns[2][32 / sizeof(T)];

  Lines(const unsigned a[4], const unsigned b[2]) {
    struct Factors {
      unsigned a[4], b[2];
    } mine;
    memcpy(mine.a, a, sizeof mine.a);
    memcpy(mine.b, b, sizeof mine.b);
    const int lane = current->number % warp;
    const uint64_t(*all)[words] = give(mine);
    for (int r = 0; r < 2; r++) {
      line(rows[r], all + lane / 4 * 4, 4 * r, 8);
      line(columns[r], all + (lane % 4 * 2 + r) * 4, 16, 4);
    }
  }
};

float number(unsigned bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// number_of returns the number that tensor cores read: they ignore the last bits of a word of tf32.
float number_of(unsigned tf32) { return number(tf32 & ~0x1fffu); }
float number_of(unsigned short bfloat16) { return number((unsigned)bfloat16 << 16); }

// add_products adds with truncation, as tensor cores do; PTX does not define the rounding.
template <class T> void add_products(float sum[4], const Lines<T> &l) {
  for (int r = 0; r < 4; r++) {
    double exact = sum[r];
    for (int k = 0; k < (int)(32 / sizeof(T)); k++) exact += (double)number_of(l.rows[r / 2][k]) * number_of(l.columns[r % 2][k]);
    sum[r] = (float)exact;
    if (fabs(sum[r]) > fabs(exact)) sum[r] = nextafterf(sum[r], 0);
  }
}

} // namespace

__attribute__((optimize("O3"))) void multiply_add(int sum[4], const unsigned a[4], const unsigned b[2]) { // O3: with vectors
  const Lines<signed char> l(a, b);
  for (int r = 0; r < 4; r++)
    for (int k = 0; k < 32; k++) sum[r] += l.rows[r / 2][k] * l.columns[r % 2][k];
}

void multiply_add(float sum[4], const unsigned a[4], const unsigned b[2], bool bf16) {
  if (bf16) add_products(sum, Lines<unsigned short>(a, b));
  else add_products(sum, Lines<unsigned>(a, b));
}

unsigned tf32(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  return x - x == 0 ? (bits + 0x1000) & ~0x1fffu : bits; // ties away from zero
}

unsigned bfloat16s(float low, float high) {
  unsigned word = 0;
  for (float x : {high, low}) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    word = word << 16 | (x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16); // ties to even
  }
  return word;
}

void load_matrices(unsigned to[4], const void *row) {
  const int lane = current->number % warp;
  const uint64_t(*rows)[words] = give(row);
  for (int m = 0; m < 4; m++) memcpy(&to[m], (const char *)(uintptr_t)rows[m * 8 + lane / 4][0] + lane % 4 * 4, 4);
}

namespace {

void run(const Copies::Copy &c) {
  if (c.there) memcpy(c.to, c.from, 16);
  else memset(c.to, 0, 16);
}

} // namespace

// copy_16 copies at once if the last thread comes first, and else when the thread waits: a copy may
// happen at any time between.
void copy_16(void *to, const void *from, bool there) {
  const Copies::Copy c = {to, from, there};
  if (backwards) run(c);
  else copies[current->number].open.push_back(c);
}

void end_group() {
  Copies &c = copies[current->number];
  c.groups.push_back(std::move(c.open));
  c.open.clear();
}

void wait_groups(int most) {
  std::deque<std::vector<Copies::Copy>> &groups = copies[current->number].groups;
  for (; (int)groups.size() > most; groups.pop_front())
    for (const Copies::Copy &c : groups.front()) run(c);
}

void warpgroup_multiply_add(int *sum, int columns, const void *a, const void *b) {
  products[current->number].open.push_back({sum, columns, (const signed char *)a, (const signed char *)b});
}

void end_products() {
  Products &p = products[current->number];
  p.groups.push_back(std::move(p.open));
  p.open.clear();
}

namespace {

// half_row points to half of a row of a matrix in shared memory. The halves change places where bit 7
// of the address is set.
const signed char *half_row(const signed char *matrix, int row, int half) {
  const signed char *at = matrix + 32 * row;
  return at + 16 * (half ^ ((uintptr_t)at >> 7 & 1));
}

} // namespace

__attribute__((optimize("O3"))) void wait_products(int most) { // O3: with vectors
  std::deque<std::vector<Products::Product>> &groups = products[current->number].groups;
  const int thread = current->number % (4 * warp), lane = thread % warp;
  for (; (int)groups.size() > most; groups.pop_front())
    for (const Products::Product &p : groups.front())
      for (int r = 0; r < p.columns / 2; r++)
        for (int half = 0; half < 2; half++) {
          const signed char *a = half_row(p.a, thread / warp * 16 + lane / 4 + 8 * (r / 2 % 2), half);
          const signed char *b = half_row(p.b, 8 * (r / 4) + 2 * (lane % 4) + r % 2, half);
          int sum = 0;
          for (int k = 0; k < 16; k++) sum += a[k] * b[k];
          p.sum[r] += sum;
        }
}

} // namespace emulated

using namespace emulated;

int kernels_count(void) { return (int)known().size(); }

const char *kernel_name(int i) { return known()[i].name; }

int kernel_params(int i) { return known()[i].params; }

int kernel_param_size(int i, int k) { return known()[i].sizes[k]; }

int kernel_launch(int i, const unsigned *grid, const unsigned *block, const uint64_t *args, int reverse) {
  backwards = reverse;
  grid_size = dim3{grid[0], grid[1], grid[2]};
  block_size = dim3{block[0], block[1], block[2]};
  threads = block[0] * block[1] * block[2];
  kernel = known()[i].f, kernel_call = known()[i].call, kernel_args = args;
  const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  for (uint64_t n = 0; n < blocks; n++) {
    const uint64_t b = backwards ? blocks - 1 - n : n;
    block_index = dim3{(unsigned)(b % grid[0]), (unsigned)(b / grid[0] % grid[1]), (unsigned)(b / grid[0] / grid[1])};
    if (!run_block()) {
      fibers.clear(); // they wait for ever; their stacks leak
      return 1;
    }
  }
  return 0;
}
