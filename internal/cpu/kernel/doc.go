// Package kernel has the loops that a CPU spends its time in when it trains:
// products with a data matrix, element-wise passes and sums, for float32 and
// float64. They are written in Go and, for amd64, in assembly that the module
// in ../gen generates; the Go loops are the reference and the fallback.
//
// # Levels
//
// A [Level] is an instruction set. [Best] asks the CPU, [New] makes the kernels
// of any level that the machine supports, so that one machine tests all.
// Kernels hold no state: operands and scratch are the caller's, nothing is
// allocated by a call, and any number of goroutines may use the same Kernels,
// [PackedFloats] and [Panels], each with its own [Scratch].
//
// # Products
//
// Training needs two products with the data matrix X of n x d: Z = X W and
// G = X^T D, with W of d x h, Z and D of n x h. X does not change, so a
// [PackedFloats] is packed once, in one layout that serves both. W and D are packed
// at every call into panels of a tile's columns; they are h/n and h/d of X's
// size. The intended use is, for each block of rows, shared out to cores:
//
//	k.Mul(z, h, x, lo, hi, w, s)              // Z = X W
//	...                                       // from Z to D, in cache
//	k.AddMulTrans(g, h, x, lo, hi, d, h, h, s) // G += X^T D
//
// where every core has its own G, and the caller adds them in a fixed order.
//
// Registers. A tile of C = A B keeps R x 2 vectors of C and adds to them, for
// each inner index, a broadcast element of A times two vectors of B. A load
// feeds two multiply-adds from a broadcast and R from B, so that the tile is
// bound by arithmetic: R = 12 with AVX-512 takes 24 + 3 of 32 registers, R = 6
// with AVX2 12 + 3 of 16. In float32 that is 12 x 32 and 6 x 16, in float64
// 12 x 16 and 6 x 8; 24 and 12 independent sums are more than the eight that
// two units of latency four need. Where the last columns fit one vector, a
// tile of half the width takes them.
//
// Level 1. A tile reads both operands from first to last, 48 + 128 bytes for
// each inner index in float32: streams that the prefetchers follow.
// AddMulTrans jumps from panel to panel of X and prefetches the next; every
// tile prefetches its part of C.
//
// Level 2. Mul takes 512 inner indices at a time, and for each panel of W all
// rows of the block: 64 KiB of W and 480 KiB of X (240 rows) are reused from a
// level-2 cache of 1 MiB. AddMulTrans takes 12 columns of X after another, and
// for each all of the packed D (240 KiB for 256 columns), which stays there;
// X and G pass once. [RowBlock], 240 rows, balances G's traffic against D's
// size; blocks of 120 to 2,400 rows differ by less than 2%.
//
// Edges. Rows of X are filled up to whole panels, columns of W and D with zeros
// to whole or half tiles. Tiles at the edge of Z and G go through scratch, so
// nothing outside a matrix is read or written. What fills a panel never meets
// a valid element, so a NaN or infinity in X stays in its row of Z and its row
// of G.
//
// Order. Sums are chains of multiply-adds in an order that the methods state.
// It depends on blocks only, and is the same at AVX2 and AVX-512: these give
// the same bits, in all functions of this package.
//
// # Products with 8-bit data
//
// [PackedBytes] are a data matrix of bytes, packed once in the two layouts that both
// products want. W and D are cut into two or three signed 8-bit [Digits], and
// [ByteKernels] multiply: VPDPBUSD adds four products of bytes to each 32-bit sum,
// four times the work of a float32 multiply-add, so that three slices take three
// quarters of the time. ../../../docs/products.md has the arithmetic and its error.
//
// A tile of 8 x 16 (4 x 8 of 256 bits) keeps the sums of all slices, 24 of 32
// registers or 12 of 16, and combines them at its end: X is read once for all
// slices, and integers never leave the registers. Per four inner indices it
// loads 8 broadcasts and three vectors of digits for 24 multiplications.
//
// The 256-bit tiles are encoded twice, with VEX for CPUs that have AVX-VNNI and
// no AVX-512 and with EVEX. The assembler knows the second only: the bytes of
// the first are written out, and compared with another assembler's in a test.
//
// # Sparse rows
//
// A [Sparse] is a data matrix whose entries alone are read, from the slices
// that the caller has. Rows of X W are kept in four vectors of registers while
// a row's entries add rows of W to them; X^T D adds a row's vectors of D to rows
// of G. Both are bound by the level-1 cache: W and G lie in panels of four
// vectors, so that their rows share no sets.
//
// One column (a linear model) leaves nothing to fill vectors with but rows.
// Where all entries are equal and similar rows have the same columns, as data
// sets of attributes with one column for each value have, 32 rows go together:
// a list of the columns that some of them have, with a bit for each row. A
// masked addition of w[c] to the 32 rows' sums, or of their d to the column's
// partial sums, then does the work of several entries. AVX2 makes masks of the
// bits by comparison.
//
// Partial sums of X^T D are in the element type for a few thousand rows, and
// their totals in float64.
//
// # Functions
//
// Largest errors, in units in the last place (below the normal numbers, of the
// smallest number), at AVX2 and AVX-512, in float32 against float64 over every
// number, in float64 against package math on 400,000:
//
//	          float32   float64
//	Exp          1         2
//	Sigmoid      2.5       3
//	Tanh         2.5       3
//	Log1p        1.5       2
//	LogisticTails        2.5       2     (float32: every 37th number)
//	SigmoidFromTails  2.5       2
//	LossGradFromTails     3.5       4
//
// Arguments are reduced with fused steps; then come Taylor series of a degree that
// leaves less than a tenth of a unit, so there are no fitted coefficients.
//
// # Speed
//
// Measured by this package's benchmarks on one core of an AMD EPYC of the 9004
// series (Zen 4, 512-bit multiply-adds in two halves) at about 3.6 GHz, with
// other programs running; in GFLOP/s. "Both" are the two products at
// 24,000 x 784 x 256, in blocks of 240 rows, packing included; OpenBLAS is
// that of numpy 2.4.6 from PyPI, in turns with the others:
//
//	                AVX-512          AVX2            Go        OpenBLAS
//	              tile   both     tile   both   tile            both
//	float32       114    108      110    104    4.6               97
//	float64        57     53       52     49    4.6               44
//
// On both cores of that machine, shared with other programs: 108 in float32,
// OpenBLAS with two threads 91.
//
// With 8-bit data and three slices, cutting included, the tiles run at 91 to 97% of
// one VPDPBUSD of 512 bits a cycle: 0.76 of the time of the float32 products of
// 784 columns with widths of 64 or more, and 0.6 of those with up to 16. At 96
// columns it is 0.9, at 32 1.04 (AVX-512).
//
// Both products with sparse rows, 48,842 x 123 with 677,323 entries of 1 (the
// Adult data set), on both cores in float32, in microseconds: one column 47 +
// 66 (AVX2 63 + 85; a loop in C over the entries 153 + 186, over all elements
// with AVX-512 150 + 150 or more), 64 columns 560 + 950.
//
// A pass over 240 x 256 elements in the level-2 cache took, in ns an element
// (float32, AVX-512): exp 0.37, bias and sigmoid 0.50, tanh 0.58, log1p 0.86,
// sigmoid's derivative 0.07, dot 0.12; over vectors of 4,096, combine 0.08,
// reach 0.11, descend 0.31, adam 0.61; over 1,920 scores, tails 0.51, sigmoid
// from tails 0.08, a derivative from tails 0.08 to 0.11, sum of logistic losses
// 0.28 (the logistic loss alone 1.1).
package kernel

//go:generate go run -C ../gen . -out ../kernel
