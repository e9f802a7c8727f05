package cuda

import (
	"fmt"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// Products is the kind of products that a device uses in float32 plans.
type Products string

// The kinds of products. Kinds with digits are for 8-bit data: they quantize the other factor to
// two or three digits of int8 or bfloat16. Three digits reach the accuracy of float32.
const (
	Auto    Products = "" // Int8x3 if the device multiplies integers fast, else Float32
	Float32 Products = "float32"
	TF32    Products = "tf32" // 10 bits of mantissa
	Int8x3  Products = "int8x3"
	Int8x2  Products = "int8x2"
	BF16x3  Products = "bf16x3"
	BF16x2  Products = "bf16x2"
)

// Devices of compute capability integersMajor.0 and newer have the integer tensor cores that
// products with int8 digits need. These products are the automatic choice on devices older than
// beyondMajor.0. On newer devices, cuBLAS's integer products are slower than float32 products
// (pytorch issue 187094).
const (
	integersMajor = 8
	beyondMajor   = 10
)

// hasIntegers reports whether tensor cores multiply integers.
func hasIntegers(i driver.Info) bool { return i.Major >= integersMajor }

// checkProducts returns an error for products that the device does not support.
func checkProducts(p plan.Products, i driver.Info) error {
	switch {
	case !p.Known():
		return fmt.Errorf("cuda: unknown products %v", p)
	case p.Integers() && !hasIntegers(i):
		return fmt.Errorf("cuda: %w", &plan.ProductsError{Products: p, Needs: fmt.Sprintf("compute capability %d.0", integersMajor),
			Found: fmt.Sprintf("%s has %d.%d", i.Name, i.Major, i.Minor), Want: "auto or float32"})
	}
	return nil
}

// Products implements plan.Device. Automatic products are int8x3 for enough columns if the device
// is known to multiply integers fast, and the library's integer products agree with the host's.
func (d *Device) Products(cols int) plan.Products {
	switch p := plan.Products(d.options.Products); {
	case p != plan.AutoProducts:
		return p
	case hasIntegers(d.Info()) && d.Info().Major < beyondMajor && cols >= plan.DigitColumns && d.driver.Integers() == nil:
		return plan.Int8x3
	}
	return plan.Float32
}

// Stored implements plan.Program: the data are in the device's memory.
func (p *Program) Stored(plan.View) matrix.EightBit { return nil }

// Products names the kind of products with the data: the kind with digits if there is one, else
// tf32 or the plan's dtype.
func (p *Program) Products() string {
	for _, x := range p.eight {
		return x.kind.String()
	}
	if p.dtype == kernels.Float64 {
		return "float64"
	}
	if p.device.options.Products == TF32 {
		return string(TF32)
	}
	return string(Float32)
}
