// The part of CUDA C++ that the kernels use, for the host. The threads of a block are fibers of one
// thread, which switch at barriers and shuffles. Blocks run one after the other, so shared memory
// is static variables.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __device__
#define __global__
#define __shared__ static
#define __ldcg(p) (*(p))
#define __threadfence()
#define __fdividef(x, y) ((x) / (y))

struct alignas(16) int4 {
  int x, y, z, w;
};

struct alignas(16) float4 {
  float x, y, z, w;
};

struct alignas(8) float2 {
  float x, y;
};

struct alignas(8) uint2 {
  unsigned x, y;
};

struct alignas(16) double2 {
  double x, y;
};

struct alignas(16) longlong2 {
  long long x, y;
};

struct dim3 {
  unsigned x, y, z;
};

namespace emulated {

extern dim3 thread_index, block_index, block_size, grid_size;

// barrier waits for all threads of the block.
void barrier();

// exchange returns to every thread of a warp the 8 bytes of the thread delta lanes further in the
// segment of width lanes, or the thread's own bytes if there is no such thread.
uint64_t exchange(uint64_t bits, int delta, int width);

template <class T> T shuffle_down(T v, int delta, int width) {
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof v);
  bits = exchange(bits, delta, width);
  memcpy(&v, &bits, sizeof v);
  return v;
}

// The instructions of tensor.cuh and warpgroup.cuh. A product of a warpgroup happens when the thread
// waits for it; a copy to shared memory too, or at once, by the order of the threads. So a kernel that
// does not wait reads what was there before, or multiplies what came later.
void multiply_add(int sum[4], const unsigned a[4], const unsigned b[2]);
void multiply_add(float sum[4], const unsigned a[4], const unsigned b[2], bool bf16);
unsigned tf32(float x);
unsigned bfloat16s(float low, float high);
void load_matrices(unsigned to[4], const void *row);
void copy_16(void *to, const void *from, bool there);
void end_group();
void wait_groups(int most);
void warpgroup_multiply_add(int *sum, int columns, const void *a, const void *b);
void end_products();
void wait_products(int most);

// byte_perm returns the four bytes of x and y that the hexadecimal digits of s number, and dp4a c plus
// the products of the signed bytes of a and b.
inline unsigned byte_perm(unsigned x, unsigned y, unsigned s) {
  const uint64_t both = (uint64_t)y << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= (unsigned)(both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return r;
}

inline int dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (signed char)(a >> i) * (signed char)(b >> i);
  return c;
}

inline unsigned atomic_add(unsigned *p, unsigned n) {
  unsigned old = *p;
  *p += n;
  return old;
}

// Erased is a kernel without its type; a Call calls the kernel with the arguments of a launch.
typedef void (*Erased)();
typedef void (*Call)(Erased, const uint64_t *);

template <class T> T argument(uint64_t slot) {
  T v;
  memcpy(&v, &slot, sizeof v);
  return v;
}

template <size_t... I> struct Indices {};
template <size_t N, size_t... I> struct Count : Count<N - 1, N - 1, I...> {};
template <size_t... I> struct Count<0, I...> {
  typedef Indices<I...> type;
};

template <class... A, size_t... I> void unpack(void (*f)(A...), const uint64_t *args, Indices<I...>) { f(argument<A>(args[I])...); }

template <class... A> void call(Erased f, const uint64_t *args) {
  unpack(reinterpret_cast<void (*)(A...)>(f), args, typename Count<sizeof...(A)>::type());
}

void add(const char *name, Erased f, Call call, int params, const int *sizes);

// A Registration adds a kernel to the list.
struct Registration {
  template <class... A> Registration(const char *name, void (*f)(A...)) {
    static const int sizes[] = {(int)sizeof(A)...};
    add(name, reinterpret_cast<Erased>(f), &call<A...>, sizeof...(A), sizes);
  }
};

} // namespace emulated

#define EMULATED_TEXT(x) #x
#define EMULATED_STRING(x) EMULATED_TEXT(x)
#define threadIdx emulated::thread_index
#define blockIdx emulated::block_index
#define blockDim emulated::block_size
#define gridDim emulated::grid_size
#define __syncthreads emulated::barrier
#define atomicAdd emulated::atomic_add
#define __byte_perm emulated::byte_perm
#define __dp4a emulated::dp4a
#define SHUFFLE_(mask, v, delta, width, ...) emulated::shuffle_down(v, delta, width)
#define __shfl_down_sync(...) SHUFFLE_(__VA_ARGS__, 32, 0)
