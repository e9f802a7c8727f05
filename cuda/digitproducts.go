package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
)

// DigitProducts says whose kernels multiply 8-bit data with int8 digits: the library's, or the
// program's own. Both give the same bits. The program's own kernels also run where the library has
// no products of integers, or wrong ones.
type DigitProducts string

// The ways to multiply with digits. With AutomaticDigits the program's kernels compute the products
// of the forward half over at most longestOwn indices on compute capability 9.0. The library
// computes all others.
const (
	AutomaticDigits DigitProducts = ""
	OwnDigits       DigitProducts = "own"
	ForwardDigits   DigitProducts = "forward" // own in the forward half
	LibraryDigits   DigitProducts = "library"
)

// DigitsSetting is the environment variable for DigitProducts.
const DigitsSetting = "PPAL_INT8"

// longestOwn is the largest number of indices for which AutomaticDigits takes the program's own
// kernel. On an H200 with 24,000 rows, 256 columns and 800 indices, this kernel takes 54 us; the
// library's product and Dequantize take 97 us. With 3,072 indices the library is faster. The number
// lies between the two measurements.
const longestOwn = 1536

// ChosenDigits returns the value of the environment variable DigitsSetting.
func ChosenDigits() (DigitProducts, error) {
	known := []DigitProducts{AutomaticDigits, OwnDigits, ForwardDigits, LibraryDigits}
	if p := DigitProducts(os.Getenv(DigitsSetting)); slices.Contains(known, p) {
		return p, nil
	}
	return "", fmt.Errorf("cuda: %s=%s: want own, forward or library", DigitsSetting, os.Getenv(DigitsSetting))
}

// multipliesDigits reports whether the program's own kernel computes a product of 8-bit data with
// digits: if that is the choice or the library cannot, and if the kernel agrees with the host.
func (p *digitsProduct) multipliesDigits() bool {
	d := p.d
	var own bool
	switch d.options.Digits {
	case OwnDigits:
		own = true
	case ForwardDigits:
		own = !p.backward
	case AutomaticDigits:
		own = !p.backward && p.digits.Inner <= longestOwn && p.set.Warpgroups()
	}
	return (own || d.driver.Integers() != nil) && d.TestDigits() == nil
}

// multipliesRefused reports whether the program's own kernel multiplies 8-bit data with digits in
// place of a product that the library refused. The kernel was tested when the library refused.
func (d *Device) multipliesRefused(g *driver.Gemm) bool {
	return d.refused[shapeOf(g)] && d.TestDigits() == nil
}

// testedDigits are products of 8-bit data with digits: one element, tiles of threads that are not
// full, more pieces of the sums than are in shared memory at a time, and several blocks of indices.
var testedDigits = []struct{ rows, cols, inner, count, length int }{
	{1, 1, 1, 2, 64}, {130, 72, 224, 3, 224}, {257, 24, 800, 3, 800}, {65, 130, 400, 2, 224},
}

// errWrongProduct is the error of a product with wrong numbers.
var errWrongProduct = errors.New("the result is wrong")

// TestDigits returns nil if the kernel that multiplies 8-bit data with digits agrees with the host
// on a few products of random integers. The first call runs the products.
func (d *Device) TestDigits() error {
	if d.digits != nil {
		return *d.digits
	}
	var err error
	if !hasIntegers(d.Info()) {
		err = fmt.Errorf("cuda: products with digits need compute capability %d.0", integersMajor)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range testedDigits {
		if err == nil {
			if err = d.testDigits(rng, c.rows, kernels.NewDigits(c.inner, c.cols, c.count, c.length, 1)); err != nil {
				err = fmt.Errorf("cuda: own products of 8-bit data with %d digits, %d x %d by %d x %d: %w", c.count, c.rows, c.inner, c.inner,
					c.cols, err)
			}
		}
	}
	d.digits = &err
	return err
}

// testDigits compares one product of random bytes and digits of unit 1 with the host's.
func (d *Device) testDigits(rng *rand.Rand, rows int, n kernels.Digits) error {
	random := func(size int) []byte {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	var held []driver.Pointer
	defer func() {
		for _, at := range held {
			d.memory.release(at)
		}
	}()
	put := func(contents []byte) (driver.Pointer, error) {
		at, err := d.table("a test of products", contents)
		if at != 0 {
			held = append(held, at)
		}
		return at, err
	}
	stride := n.Blocks * n.Length
	x, digits := random(rows*stride), random(n.Bytes())
	units, offsets, got := make([]byte, 8*n.Blocks*n.Width), make([]byte, 8*n.Blocks*n.Width), make([]byte, 4*rows*n.Columns)
	const one = 0x3ff0000000000000 // float64's bits
	for i := 0; i < len(units); i += 8 {
		binary.LittleEndian.PutUint64(units[i:], one)
	}
	var at [5]driver.Pointer
	for i, contents := range [][]byte{x, digits, units, offsets, got} {
		var err error
		if at[i], err = put(contents); err != nil {
			return err
		}
	}
	n.At, n.Units, n.Offsets = at[1], at[2], at[3]
	set, err := d.set(kernels.Float32)
	if err != nil {
		return err
	}
	if err := set.MultiplyDigits(&d.queue, kernels.Dequantize{Digits: n, X: kernels.SignedBytes{At: at[0], Stride: stride},
		Out: kernels.Operand{At: at[4], Rows: rows, Cols: n.Columns, Stride: n.Columns}}); err != nil {
		return err
	}
	if err := errors.Join(d.driver.Download(d.stream, got, at[4]), d.driver.Synchronize(d.stream)); err != nil {
		return err
	}
	for i, z := range typed[float32](got) {
		if row, col := i/n.Columns, i%n.Columns; z != productWithDigits(x[row*stride:][:stride], digits, n, col) {
			return errWrongProduct
		}
	}
	return nil
}

// productWithDigits returns the product of a row of signed bytes and a column of digits of unit 1.
func productWithDigits(row, digits []byte, n kernels.Digits, col int) float32 {
	sum := 0.0
	for k := range n.Blocks {
		total := int64(0)
		for s := range n.Count {
			column, own := digits[((k*n.Count+s)*n.Width+col)*n.Length:], int64(0)
			for l, v := range row[k*n.Length:][:n.Length] {
				own += int64(int8(v)) * int64(int8(column[l]))
			}
			total = total*254 + own
		}
		sum += float64(total)
	}
	return float32(sum)
}
