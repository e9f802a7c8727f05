//go:build gpu

package nvidia

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"ppal/internal/cuda/driver"
)

// Integers implements driver.Driver.
func (d *device) Integers() error { return d.integers() }

// testedShapes are products of 8-bit integers of the forms that plans use, rows x cols with sums
// over inner: the smallest, some with rows that fill no tile, longer ones, and strided batches.
var testedShapes = []struct{ rows, cols, inner, batch int }{
	{32, 16, 64, 1}, {37, 24, 64, 1}, {33, 24, 96, 3}, {256, 48, 800, 1}, {130, 96, 224, 2}, {784, 24, 256, 1},
}

// testIntegers compares products of random integers with the host's. cuBLAS refused small shapes,
// or returned wrong numbers, in several versions (pytorch issues 106840 and 107671).
func (d *device) testIntegers() (err error) {
	if d.products.lib == nil {
		return d.products.missing
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.FreeStream(s)) }()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range testedShapes {
		if err := d.testProduct(s, rng, shape.rows, shape.cols, shape.inner, shape.batch); err != nil {
			return fmt.Errorf("cuda: products of 8-bit integers, %d x %d by %d x %d, %d times: %w", shape.rows, shape.inner, shape.inner,
				shape.cols, shape.batch, err)
		}
	}
	return nil
}

// errWrong is the error of a product with wrong numbers.
var errWrong = errors.New("the result is wrong")

func (d *device) testProduct(s driver.Stream, rng *rand.Rand, rows, cols, inner, batch int) (err error) {
	a, b, got := make([]byte, batch*rows*inner), make([]byte, batch*cols*inner), make([]byte, 4*batch*rows*cols)
	for _, numbers := range [][]byte{a, b} {
		for i := range numbers {
			numbers[i] = byte(rng.Uint32())
		}
	}
	var at [3]driver.Pointer
	for i, host := range [][]byte{a, b, got} {
		if at[i], err = d.Allocate(len(host)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Free(at[i])) }()
	}
	g := &driver.Gemm{Precision: driver.Int8, Rows: rows, Cols: cols, Inner: inner, TransB: true, Alpha: 1, A: at[0], B: at[1], C: at[2],
		StrideA: inner, StrideB: inner, StrideC: cols, Batch: batch, StepA: rows * inner, StepB: cols * inner, StepC: rows * cols}
	for _, do := range []func() error{
		func() error { return d.Upload(s, at[0], a) }, func() error { return d.Upload(s, at[1], b) },
		// Zeros, so that right results of an earlier test cannot hide a product that writes nothing.
		func() error { return d.Upload(s, at[2], got) },
		func() error { return d.Multiply(s, g) },
		func() error { return d.Download(s, got, at[2]) }, func() error { return d.Synchronize(s) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	for k := range batch {
		for i := range rows {
			row := a[(k*rows+i)*inner:][:inner]
			for j := range cols {
				column := b[(k*cols+j)*inner:][:inner]
				want := int32(0)
				for l, x := range row {
					want += int32(int8(x)) * int32(int8(column[l]))
				}
				if int32(binary.LittleEndian.Uint32(got[4*((k*rows+i)*cols+j):])) != want {
					return errWrong
				}
			}
		}
	}
	return nil
}
