package cpu

import (
	"fmt"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
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

// Slices says whether the device's float32 products with 8-bit data of so many columns are in slices.
func (d *Device) Slices(cols int) bool {
	switch d.products {
	case Float:
		return false
	case Auto:
		k, err := kernel.NewIntegers(d.level)
		return err == nil && k.Fast() && cols >= sliceFeatures
	}
	return true
}

// sliceFeatures is the number of columns from which on Auto takes slices: cutting the other factor and joining the sums cost as much as
// some dozen columns of a product.
const sliceFeatures = 96

// byteLeaf returns room for a leaf of 8-bit data that products read in slices, nil for others.
func (e *executor[T]) byteLeaf(buffer int) *kernel.PackedBytes {
	data, ok := e.plan.DataOf(buffer).(matrix.EightBit)
	if _, single := any(e).(*executor[float32]); !ok || !single {
		return nil
	}
	rows, cols := data.Dims()
	if !e.device.Slices(cols) {
		return nil
	}
	if own, ok := data.(*kernel.PackedBytes); ok {
		return own
	}
	return kernel.NewPackedBytes(rows, cols, data.ByteScale())
}

// slices is the number of slices of the products with 8-bit data.
func (p Products) slices() int {
	if p == Int8x2 {
		return 2
	}
	return 3
}

// Products names how products with the data are computed: int8x3 or int8x2 if any are, else the dtype.
func (e *executor[T]) Products() string {
	switch {
	case len(e.bytes) == 0:
		return e.plan.Dtype.String()
	case e.device.products == Int8x2:
		return Int8x2.String()
	}
	return Int8x3.String()
}
