package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Products is how a device multiplies matrices in plans of float32. Plans of float64 multiply in
// float64. The kinds with digits are for data of 8-bit values: the other factor is quantized to 3
// or 2 digits, each of 8 bits of its mantissa, and each digit's product with the data is exact.
type Products uint8

// The kinds of products. A device supports some of them.
const (
	AutoProducts Products = iota // Int8x3 for 8-bit data where that is fast, else Float32
	Float32                      // in float32
	TF32                         // float32 rounded to 10 bits of mantissa, on tensor cores
	Int8x3                       // three digits in integers: float32's accuracy
	Int8x2                       // two digits in integers: an error of 3e-5 of the largest weight
	BF16x3                       // three digits in bfloat16, with sums of float32
	BF16x2                       // two digits in bfloat16
)

var productNames = [...]string{"auto", "float32", "tf32", "int8x3", "int8x2", "bf16x3", "bf16x2"}

// String is the name in settings and reports.
func (p Products) String() string {
	if int(p) >= len(productNames) {
		return fmt.Sprintf("Products(%d)", uint8(p))
	}
	return productNames[p]
}

// ParseProducts is the inverse of Products.String.
func ParseProducts(name string) (Products, error) {
	if i := slices.Index(productNames[:], name); i >= 0 {
		return Products(i), nil
	}
	return AutoProducts, fmt.Errorf("plan: unknown products %q, want one of %s", name, strings.Join(productNames[:], ", "))
}

// Digits is the number of digits of the second factor, 0 for products without digits.
func (p Products) Digits() int {
	switch p {
	case Int8x3, BF16x3:
		return 3
	case Int8x2, BF16x2:
		return 2
	}
	return 0
}

// Integers reports whether the digits are integers.
func (p Products) Integers() bool { return p == Int8x3 || p == Int8x2 }

// DigitColumns is the number of columns of 8-bit data from which AutoProducts chooses digits.
// Quantizing the other factor and adding the digits' sums cost as much as some dozen columns of a
// product. The number was measured on a CPU; no GPU was measured yet.
const DigitColumns = 96

// A ProductsError says which products a device does not support, and why.
type ProductsError struct {
	Products Products
	Needs    string // the units or instructions that the products need
	Found    string // what the device has
	Want     string // the products to choose instead
}

func (e *ProductsError) Error() string {
	return fmt.Sprintf("%v products need %s; %s: choose %s", e.Products, e.Needs, e.Found, e.Want)
}
