package cuda

import (
	"fmt"
	"slices"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
)

// Products is how a device multiplies in float32 plans: matrices of float32, or 8-bit data with slices of the other factor.
type Products uint8

// The kinds of products.
const (
	Auto    Products = iota // Int8x3 with 8-bit data where the device has the units, else Float32: float32's accuracy
	Float32                 // in float32
	TF32                    // float32 rounded to 10 bits of mantissa on tensor cores
	Int8x3                  // 8-bit data: three exact products of integers, float32's accuracy
	Int8x2                  // two, an error of 3e-5 of the largest weight
	BF16x3                  // three products of bfloat16, with sums of float32
	BF16x2                  // two
)

var productNames = [...]string{"auto", "float32", "tf32", "int8x3", "int8x2", "bf16x3", "bf16x2"}

// String is the name in settings and reports.
func (p Products) String() string {
	if int(p) >= len(productNames) {
		return fmt.Sprintf("Products(%d)", uint8(p))
	}
	return productNames[p]
}

// ParseProducts is the kind of a name as String writes it.
func ParseProducts(name string) (Products, error) {
	if i := slices.Index(productNames[:], name); i >= 0 {
		return Products(i), nil
	}
	return Auto, fmt.Errorf("cuda: no products %q: want one of %q", name, productNames)
}

// slices is the number of slices of products with 8-bit data, 0 where they are in float32.
func (p Products) slices() int {
	switch p {
	case Int8x3, BF16x3:
		return 3
	case Int8x2, BF16x2:
		return 2
	}
	return 0
}

// integers says whether the slices are of integers.
func (p Products) integers() bool { return p == Int8x3 || p == Int8x2 }

// precision is the library's for matrices of float32.
func (p Products) precision() driver.Precision {
	if p == TF32 {
		return driver.TF32
	}
	return driver.Float32
}

// integersMajor is the compute capability from which on tensor cores multiply signed bytes as this package asks for.
const integersMajor = 8

// hasIntegers reports whether the device's tensor cores multiply integers.
func hasIntegers(i driver.Info) bool { return i.Major >= integersMajor }

// sliceFeatures is the number of columns from which on Auto takes slices: the cut and the joining of sums cost as much as some dozen
// columns of a product. It is the CPU's number: no device was measured yet.
const sliceFeatures = 96

// Sliced is how the device multiplies 8-bit data of so many columns: a kind with slices, or Float32 or TF32.
func (d *Device) Sliced(cols int) Products {
	switch p := d.options.Products; {
	case p != Auto:
		return p
	case hasIntegers(d.Info()) && cols >= sliceFeatures:
		return Int8x3
	}
	return Float32
}

// Slices says whether products of float32 with 8-bit data of so many columns are in slices.
func (d *Device) Slices(cols int) bool { return d.Sliced(cols).slices() > 0 }

// Products names how products with the data are computed: in slices if any are, else tf32 or the numbers' type.
func (p *Program) Products() string {
	for _, x := range p.eight {
		return x.kind.String()
	}
	if p.dtype == kernels.Float64 {
		return "float64"
	}
	if p.device.options.Products == TF32 {
		return TF32.String()
	}
	return Float32.String()
}
