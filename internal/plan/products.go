package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Products is the kind of matrix products in float32 plans. Float64 plans multiply in float64. The
// kinds with digits apply to 8-bit data: the device quantizes the other factor to 3 or 2 digits,
// each with 8 bits of the mantissa, and multiplies each digit with the data exactly. On a CPU, the
// kinds with digits of bfloat16 apply to dense data, which are also split.
type Products string

// The kinds of products. A device supports some of them.
const (
	AutoProducts Products = ""        // a kind of three digits if it suits the data and is faster, else Float32
	Float32      Products = "float32" // in float32
	TF32         Products = "tf32"    // float32 rounded to 10 bits of mantissa, on tensor cores
	Int8         Products = "int8"    // Int8x3, and Int8x2 for the coarse passes of a Grader
	Int8x3       Products = "int8x3"  // three digits in integers: float32's accuracy
	Int8x2       Products = "int8x2"  // two digits in integers: an error of 3e-5 of the largest weight
	BF16x3       Products = "bf16x3"  // three digits in bfloat16, with sums of float32
	BF16x2       Products = "bf16x2"  // two digits in bfloat16
)

// AllProducts lists the kinds of products.
func AllProducts() []Products {
	return []Products{AutoProducts, Float32, TF32, Int8, Int8x3, Int8x2, BF16x3, BF16x2}
}

// Known reports whether p is one of the kinds.
func (p Products) Known() bool { return slices.Contains(AllProducts(), p) }

// String returns the name of p in settings and reports.
func (p Products) String() string {
	if p == AutoProducts {
		return "auto"
	}
	return string(p)
}

// ParseProducts is the inverse of Products.String.
func ParseProducts(name string) (Products, error) {
	var names []string
	for _, p := range AllProducts() {
		if names = append(names, p.String()); p.String() == name {
			return p, nil
		}
	}
	return AutoProducts, fmt.Errorf("plan: unknown products %q, want one of %s", name, strings.Join(names, ", "))
}

// Digits returns the number of digits of the second factor, or 0 for products without digits.
func (p Products) Digits() int {
	switch p {
	case Int8, Int8x3, BF16x3:
		return 3
	case Int8x2, BF16x2:
		return 2
	}
	return 0
}

// Integers reports whether the digits are integers.
func (p Products) Integers() bool { return p == Int8 || p == Int8x3 || p == Int8x2 }

// BFloat16 reports whether the digits are bfloat16.
func (p Products) BFloat16() bool { return p == BF16x3 || p == BF16x2 }

// DigitColumns is the number of columns of 8-bit data from which AutoProducts chooses digits.
// Quantizing the other factor and adding the digits' sums cost as much as several dozen columns of
// a product. The number comes from measurements on a CPU, not on a GPU.
const DigitColumns = 96

// ProductsError says which products a device does not support, and why.
type ProductsError struct {
	Products Products
	Needs    string // the units or instructions that the products need
	Found    string // what the device has
	Want     string // the products to choose instead
}

func (e *ProductsError) Error() string {
	return fmt.Sprintf("%v products need %s; %s: choose %s", e.Products, e.Needs, e.Found, e.Want)
}
