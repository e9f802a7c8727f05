// Package kernel has the loops in which a CPU spends its time when it trains: products with a data
// matrix, element-wise passes and sums, for float32 and float64. They are written in Go and, for
// amd64, in assembly that the module in ../gen generates. The Go loops are the reference and the
// fallback.
//
// # Levels
//
// A [Level] names a set of CPU features. [Best] asks the CPU, [New] makes the kernels of any level
// that the machine supports, so that one machine tests all of its levels. The generator writes the
// tables that map a level to its kernels (tables_amd64.go). Kernels hold no state: operands and
// scratch belong to the caller, a call allocates nothing, and any number of goroutines may use the
// same Kernels, [PackedFloats] and [Panels], each with a [Scratch] of its own.
//
// # Products
//
// Training needs two products with the data matrix X of n x d: Z = X W and G = X^T D, with W of d x
// h, Z and D of n x h. X does not change, so a [PackedFloats] is packed once, in a layout that
// serves both products. W and D are packed at every call into panels of a tile's columns; they are
// h/n and h/d times as large as X. The intended use is, for each block of rows, with the blocks
// shared out to cores:
//
//	k.Mul(z, h, x, lo, hi, w, s)              // Z = X W
//	...                                       // from Z to D, in cache
//	k.AddMulTrans(g, h, x, lo, hi, d, h, h, s) // G += X^T D
//
// where every core has its own G, and the caller adds them in a fixed order.
//
// Registers. A tile of C = A B keeps R x 2 vectors of C. For each inner index it adds to them a
// broadcast element of A times two vectors of B. A broadcast feeds two multiply-adds and a vector
// of B feeds R, so the tile is bound by arithmetic: R = 12 with AVX-512 takes 24 + 3 of 32
// registers, R = 6 with AVX2 takes 12 + 3 of 16. In float32 a tile is 12 x 32 or 6 x 16, in float64
// 12 x 16 or 6 x 8. The 24 or 12 independent sums are more than the eight that two units of latency
// four need. If the last columns fit in one vector, a tile of half the width takes them.
//
// Level-1 cache. A tile reads both operands from the first to the last element, 48 + 128 bytes for
// each inner index in float32: streams that the prefetchers follow. AddMulTrans jumps from panel to
// panel of X and prefetches the next panel; every tile prefetches its part of C.
//
// Level-2 cache. Mul takes 512 inner indices at a time, and for each panel of W all rows of the
// block: 64 KiB of W and 480 KiB of X (240 rows) are reused from a level-2 cache of 1 MiB.
// AddMulTrans takes 12 columns of X at a time and, for each, all of the packed D (240 KiB for 256
// columns), which stays in cache; X and G pass through once. [RowBlock], 240 rows, balances the
// traffic of G against the size of D; blocks of 120 to 2,400 rows differ by less than 2%.
//
// Edges. X is filled up to whole panels of rows. W and D are filled up with zeros to whole or half
// tiles of columns. Tiles at the edge of Z and G go through scratch, so a kernel reads and writes
// nothing outside a matrix. The elements that fill up a panel never meet a valid element, so a NaN
// or infinity in X stays in its row of Z and its row of G.
//
// Order. Sums are chains of multiply-adds in an order that the methods state. The order depends on
// the blocks only, and is the same at AVX2 and AVX-512: both levels give the same bits, in all
// functions of this package.
//
// # Products with 8-bit data
//
// [PackedBytes] are a data matrix of bytes, packed once in the two orders that the products want. W
// and D are quantized to two or three signed 8-bit [Digits], and [ByteKernels] multiply: VPDPBUSD
// adds four products of bytes to each 32-bit sum, four times the work of a float32 multiply-add, so
// that three digits take three quarters of the time. ../../../docs/reference/products.md has the
// arithmetic and its error.
//
// A tile of 8 x 16 (4 x 8 with 256 bits) keeps the sums of all digits, 24 of 32 registers or 12 of
// 16, and combines them at its end: X is read once for all digits, and the integers never leave the
// registers. For four inner indices a tile loads 8 broadcasts and three vectors of digits for 24
// multiplications.
//
// The 256-bit tiles exist in two encodings: VEX, for CPUs that have AVX-VNNI and no AVX-512, and
// EVEX. The assembler knows EVEX only. The bytes of the VEX encoding are written out, and a test
// compares them with another assembler's.
//
// Level AMX multiplies with TDPBUSD, which adds 16 x 64 bytes of data times 64 x 16 digits to a
// tile of 16 x 16 sums. Data lie in panels of 16 rows and 64 inner indices, and digits as for
// VPDPBUSD. A call computes a strip: many rows of the result for a panel of digits, two tiles of
// rows at a time. It joins the digits of a pair of tiles while the next pair multiplies. The strips
// of X W also apply a bias and an activation to the rows that they join: see
// [ByteKernels.MulActivate], bytestrips.go, and amxtiles.go in ../gen.
//
// The assembler does not know the tile instructions either. A test compares their bytes with
// another assembler's. A model of the instructions in Go runs the generated assembly in the tests
// of every machine, and `make amx-emulated` runs the machine code in an emulator.
//
// The order of the bytes is a [Layout], a property of the tiles. To add tiles with another layout,
// emit them in ../gen with the features that they need; PackedBytes and Digits follow the layout.
//
// # Sparse rows
//
// A [Sparse] is a data matrix of which products read the entries alone, from the caller's slices. X
// W keeps a row of Z in four vectors of registers while the entries of the row add rows of W to it.
// X^T D adds the vectors of a row of D to rows of G. The level-1 cache bounds both: W and G lie in
// panels of four vectors, so that their rows share no sets of the cache.
//
// A product with a single column (a linear model) can fill vectors with rows only. If all entries
// are equal and similar rows have the same columns, as in tables of attributes with one column for
// each value, 32 rows go together: a list of the columns that some of the rows have, with a bit for
// each row. A masked addition of w[c] to the sums of the 32 rows, or of their d to the partial sums
// of the column, then does the work of several entries. AVX2 makes the masks from the bits by
// comparison.
//
// Partial sums of X^T D are in the element type for a few thousand rows, and their totals in
// float64.
//
// # Functions
//
// The largest errors at AVX2 and AVX-512, in units in the last place (below the normal numbers, in
// units of the smallest number); float32 compared with float64 over every number, float64 with
// package math on 400,000 numbers:
//
//	                       float32   float64
//	Exp                       1         2
//	Sigmoid                   2.5       3
//	Tanh                      2.5       3
//	Log1p                     1.5       2
//	LogisticTails             2.5       2     (float32: every 37th number)
//	SigmoidFromTails          2.5       2
//	LossGradFromTails         3.5       4
//
// Arguments are reduced with fused steps. Then come Taylor series of a degree that leaves less than
// a tenth of a unit, so there are no fitted coefficients.
//
// # Speed
//
// This package's benchmarks gave, on one core of an AMD EPYC of the 9004 series (Zen 4, 512-bit
// multiply-adds in two halves) at about 3.6 GHz, with other programs running, in GFLOP/s. "Both"
// are the two products at 24,000 x 784 x 256, in blocks of 240 rows, packing included; OpenBLAS, of
// numpy 2.4.6 from PyPI, ran in turns with the others:
//
//	                AVX-512          AVX2            Go        OpenBLAS
//	              tile   both     tile   both   tile            both
//	float32       114    108      110    104    4.6               97
//	float64        57     53       52     49    4.6               44
//
// Both cores of that machine, shared with other programs, gave 108 in float32, and OpenBLAS with
// two threads 91.
//
// With 8-bit data and three digits, quantizing included, the tiles run at 91 to 97% of one VPDPBUSD
// of 512 bits a cycle: 0.76 of the time of the float32 products of 784 columns with widths of 64 or
// more, and 0.6 of the time of those with widths up to 16. With 96 columns the ratio is 0.9, with
// 32 columns 1.04 (AVX-512).
//
// Both products with sparse rows, 48,842 x 123 with 677,323 entries of 1 (the Adult data set), on
// both cores in float32, took in microseconds: with one column 47 + 66 (AVX2 63 + 85; a loop in C
// over the entries 153 + 186, over all elements with AVX-512 150 + 150 or more), with 64 columns
// 560 + 950.
//
// A pass over 240 x 256 elements in the level-2 cache took, in ns an element (float32, AVX-512):
// exp 0.37, bias and sigmoid 0.50, tanh 0.58, log1p 0.86, the derivative of sigmoid 0.07, dot 0.12.
// Over vectors of 4,096 elements: combine 0.08, the squared trial norm 0.11, descend 0.31, adam
// 0.61. Over 1,920 scores: logistic tails 0.51, sigmoid from tails 0.08, a derivative from tails
// 0.08 to 0.11, a sum of logistic losses 0.28 (the logistic loss alone 1.1).
package kernel

//go:generate go run -C ../gen . -out ../kernel
