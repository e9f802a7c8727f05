// Means of a surrogate over pairs of documents, and their derivative: kernels.Pairs. The lists'
// places are bytes from the table. A document's place is its index in the order.
#include "phi.cuh"

// A tile: the pairs of count documents from first on with others documents from other on, which are
// less relevant. The tiles of a cell are consecutive.
struct Tile {
  int first, count, other, others;
};

// A block of documents of one query, level and group: the places from start to end-1.
struct DocumentBlock {
  int start, end, level, group;
};

// A run: count documents of a block from first on; the query has the blocks from to to-1, and cells
// from cell on.
struct Run {
  int first, count, block, from, to, cell;
};

enum { TILE_ROWS = 64, TILE_COLUMNS = 1024, RUN = 128 };

__device__ inline double tile_sum(const double *partial, int64 from, int64 to, int64 step) {
  double sum = 0;
  for (int64 k = from; k < to; k += step) sum += __ldcg(&partial[k]);
  return sum;
}

// The last block adds the tiles of each cell: with many cells a thread takes a cell.
KERNEL(pair_means)(const char *table, int64 order_at, int64 tiles_at, int64 tiles, int64 starts_at, int64 counts_at, int64 cells,
                   int64 phi, const real *s, int64 ss, real *out, int64 os, double *partial, unsigned *tickets) {
  __shared__ double higher[TILE_ROWS], lower[TILE_COLUMNS];
  const int *order = (const int *)(table + order_at), *starts = (const int *)(table + starts_at);
  const Tile *list = (const Tile *)(table + tiles_at);
  const double *counts = (const double *)(table + counts_at);
  for (int64 k = blockIdx.x; k < tiles; k += gridDim.x) {
    Tile t = list[k];
    for (int i = threadIdx.x; i < t.count; i += blockDim.x) higher[i] = s[order[t.first + i] * ss];
    for (int j = threadIdx.x; j < t.others; j += blockDim.x) lower[j] = s[order[t.other + j] * ss];
    __syncthreads();
    double sum = 0;
    for (int p = threadIdx.x; p < t.count * t.others; p += blockDim.x) sum += phi_value(phi, margin(higher[p / t.others], lower[p % t.others]));
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[k] = sum;
  }
  if (!last_block(tickets, gridDim.x)) return;
  if (cells > TILE_ROWS) {
    for (int64 c = threadIdx.x; c < cells; c += blockDim.x)
      out[c * os] = (real)(counts[c] > 0 ? tile_sum(partial, starts[c], starts[c + 1], 1) / counts[c] : 0);
    return;
  }
  for (int64 c = 0; c < cells; c++) {
    double sum = block_sum(tile_sum(partial, starts[c] + threadIdx.x, starts[c + 1], blockDim.x));
    if (threadIdx.x == 0) out[c * os] = (real)(counts[c] > 0 ? sum / counts[c] : 0);
  }
}
EXPORT(pair_means)

// A block of threads has a run, and a thread a document, of which it adds all pairs. So each pair is
// computed twice, and no two threads write the same element. The documents without pairs are in
// rest.
KERNEL(pair_means_grad)(const char *table, int64 order_at, int64 blocks_at, int64 runs_at, int64 runs, int64 counts_at, int64 groups,
                        int64 rest_at, int64 rest, int64 phi, const real *s, int64 ss, const real *w, int64 ws, real *out, int64 os) {
  __shared__ double other[RUN];
  const int *order = (const int *)(table + order_at), *others = (const int *)(table + rest_at);
  const DocumentBlock *blocks = (const DocumentBlock *)(table + blocks_at);
  const Run *list = (const Run *)(table + runs_at);
  const double *counts = (const double *)(table + counts_at);
  for (int64 k = blockIdx.x; k < runs; k += gridDim.x) {
    Run r = list[k];
    DocumentBlock own = blocks[r.block];
    bool valid = (int)threadIdx.x < r.count;
    int64 row = order[r.first + (valid ? threadIdx.x : 0)];
    double score = s[row * ss], sum = 0;
    for (int b = r.from; b < r.to; b++) {
      DocumentBlock o = blocks[b];
      if (o.level == own.level) continue;
      bool above = own.level > o.level;
      int64 cell = r.cell + (above ? own.group * groups + o.group : o.group * groups + own.group);
      double v = w[cell * ws] / counts[cell], part = 0;
      for (int at = o.start; at < o.end; at += blockDim.x) {
        int n = (int)smaller(o.end - at, blockDim.x);
        __syncthreads(); // other may be used again
        if ((int)threadIdx.x < n) other[threadIdx.x] = s[order[at + threadIdx.x] * ss];
        __syncthreads();
        for (int j = 0; j < n; j++) part += phi_deriv(phi, above ? margin(score, other[j]) : margin(other[j], score));
      }
      sum += above ? v * part : -v * part;
    }
    if (valid) out[row * os] = (real)sum;
  }
  for (int64 k = (int64)blockIdx.x * blockDim.x + threadIdx.x; k < rest; k += (int64)gridDim.x * blockDim.x) out[others[k] * os] = 0;
}
EXPORT(pair_means_grad)
