// Products of 8-bit data with int8 digits by warpgroups, for compute capability 9.0:
// multiply_digits.cuh.
#include "multiply_digits.cuh"
#include "warpgroup.cuh"

// Each of the 2 warpgroups of a block computes 64 x COLUMNS elements: the digits are S x COLUMNS
// columns of its product.
template <int S> struct Warpgroups {
  enum { TALL = 1, WIDE = COLUMNS / 8 };
  static __device__ inline int row() { return threadIdx.x / 32 * 16; }
  static __device__ inline int column() { return 0; }

  // sum_pieces adds the products of all indices of a block to sum. The product of a piece runs beside
  // the wait for the next piece, so its stage is free two pieces later.
  static __device__ inline void sum_pieces(int (&sum)[TALL][S * WIDE][4], signed char *shared, const Feeds<S> &feeds, int pieces) {
    int(&flat)[S * WIDE * 4] = (int(&)[S * WIDE * 4])sum;
    const int left_at = threadIdx.x / 128 * 64 * DEPTH;
#pragma unroll
    for (int p = 0; p < STAGES - 2; p++) feeds.begin(shared, p, pieces);
    for (int piece = 0; piece < pieces; piece++) {
      wait_groups<STAGES - 3>();
      copies_before_products();
      __syncthreads(); // the piece is there for all threads, and no product reads the stage two pieces before it
      feeds.begin(shared, piece + STAGES - 2, pieces);
      const signed char *stage = shared + piece % STAGES * staged<S>();
      begin_products(flat);
      multiply_add(flat, stage + left_at, stage + ROWS * DEPTH);
      end_products();
      wait_products<1>();
    }
    wait_products<0>();
    hold(flat);
  }
};

KERNEL_WIDE(multiply_warpgroups_2, 2) MULTIPLY_DIGITS { multiply_digits<2, Warpgroups>(MULTIPLY_DIGITS_OF); }
EXPORT(multiply_warpgroups_2)
KERNEL_WIDE(multiply_warpgroups_3, 2) MULTIPLY_DIGITS { multiply_digits<3, Warpgroups>(MULTIPLY_DIGITS_OF); }
EXPORT(multiply_warpgroups_3)
