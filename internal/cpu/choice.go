package cpu

import (
	"fmt"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Products is how a device computes products of float32 matrices with 8-bit data.
type Products int

// The kinds of products.
const (
	Auto   Products = iota // Int8x3 where it is fast, else Float: float32's accuracy
	Float                  // in float32
	Int8x3                 // three exact integer products, float32's accuracy
	Int8x2                 // two, an error of 3e-5 of the largest weight
)

var productNames = [...]string{"auto", "float32", "int8x3", "int8x2"}

// String is the name in settings and reports.
func (p Products) String() string {
	if p < 0 || int(p) >= len(productNames) {
		return fmt.Sprintf("Products(%d)", int(p))
	}
	return productNames[p]
}

// ParseProducts is the kind of a name as String writes it.
func ParseProducts(name string) (Products, error) {
	for p, have := range productNames {
		if name == have {
			return Products(p), nil
		}
	}
	return Auto, fmt.Errorf("cpu: no products %q: want auto, float32, int8x3 or int8x2", name)
}

// A ProductsError tells that a device lacks the instructions for products.
type ProductsError struct {
	Products Products
	Level    kernel.Level
}

func (e *ProductsError) Error() string {
	return fmt.Sprintf("cpu: %v products need AVX-512 VNNI or AVX-VNNI; the %v kernels have neither here: choose float32", e.Products, e.Level)
}

// Integers names the instruction that products of 8-bit data with slices take: avx512_vnni, avx_vnni, or go.
func (d *Device) Integers() string {
	k, err := kernel.NewIntegers(d.level)
	if err != nil {
		return "go"
	}
	return k.Instruction()
}

// sliceFeatures is the number of columns from which on Auto takes slices: cutting the other factor and joining the sums cost as much as
// some dozen columns of a product.
const sliceFeatures = 96

// chooseSlices says how many slices products with 8-bit data have, if the data are wide enough for Auto.
func (e *executor[T]) chooseSlices(d *Device) error {
	var single T
	if _, ok := any(single).(float32); !ok || d.products == Float {
		return nil
	}
	k, err := kernel.NewIntegers(d.level)
	if err != nil {
		return err
	}
	e.integers = k
	switch {
	case d.products == Int8x2:
		e.slices = 2
	case d.products == Int8x3, k.Fast():
		e.slices = 3
	}
	e.anyWidth = d.products != Auto
	return nil
}

// byteLeaf returns room for a leaf of 8-bit data that products read in slices, nil for others.
func (e *executor[T]) byteLeaf(buffer int) *kernel.Bytes {
	data, ok := e.plan.DataOf(buffer).(plan.Bytes)
	if !ok || e.slices == 0 {
		return nil
	}
	rows, cols := data.Dims()
	if cols < sliceFeatures && !e.anyWidth {
		return nil
	}
	_, scale := data.Bytes()
	return kernel.NewBytes(rows, cols, scale)
}

// Products names how products with the data are computed: int8x3 or int8x2 if any are, else the dtype.
func (e *executor[T]) Products() string {
	switch {
	case len(e.bytes) == 0:
		return e.plan.Dtype.String()
	case e.slices == 2:
		return Int8x2.String()
	}
	return Int8x3.String()
}
