package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/trainer/problem"
)

// Device runs plans and the primal steps on their parameters. Packages internal/cpu and cuda
// implement Device.
type Device interface {
	// NewVectors returns float32 or float64 vectors in the device's memory with the iterate x.
	// groups holds the ends of the groups that the steps' GroupMaps use, or nil if there are no
	// groups.
	NewVectors(t tensor.Dtype, x matrix.Matrix, groups []int) (problem.Vectors, error)
	// Compile returns a program that runs the plan at the iterate of x. The vectors are the
	// device's, of the plan's dtype; the plan's parameters are consecutive parts of a vector. The
	// program copies the plan's data, except for the entries of sparse data, the bytes of pictures
	// and data in the device's own layout: the caller must not change these. The error is an
	// *UnsupportedError if the device does not support a step of the plan.
	Compile(p *Plan, x problem.Vectors) (Program, error)
	// Products returns the kind of products that the device uses in float32 plans for 8-bit data
	// with that many columns.
	Products(cols int) Products
}

// UnsupportedError says which step of a plan a device does not support.
type UnsupportedError struct {
	Device, Step string // in words: "the GPU", "the op swish"
}

// Error returns one line.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("there is no kernel for %s on %s: train with --device cpu", e.Step, e.Device)
}

// Collective is a Device whose programs run in several processes at the same time, when one process
// calls and the others serve. While problems are built, nobody serves.
type Collective interface {
	Device
	Collective()
}

// Program is a compiled plan. Callers must not call its methods concurrently.
type Program interface {
	// Forward computes the objective, the constraints and the watched values at the iterate. It
	// returns f and writes the elements of all constraints to g.
	Forward(g []float64) (f float64, err error)
	// Backward writes the gradient for the coefficients (the objective's, then the constraints') to
	// the vector d. It uses the values that the last Forward kept.
	Backward(coefficients []float64, d problem.Vector) error
	// Contents writes the elements of a view, row after row, to dst. The view is the objective, a
	// constraint or a watched value.
	Contents(v View, dst []float64) error
	// Bind copies a matrix to an input of the same shape. The next Forward uses it. An input whose
	// products read 8-bit values accepts only a matrix.EightBit with the same scale. Any other
	// matrix gives an error that wraps ErrNotBytes.
	Bind(v View, m matrix.Matrix) error
	// Stored returns the 8-bit data of an input as the program reads them on the host, with the same
	// elements as the plan's data, whose references the caller can then drop. Stored returns nil
	// for other inputs, and if the program does not store the values exactly on the host.
	Stored(v View) matrix.EightBit
	// Products names the kind of products with the data: a kind with digits, or the dtype.
	Products() string
}

// Keeper is a Program that can keep several packed matrices for an input, so that changing the
// input from one to another copies nothing.
type Keeper interface {
	// Keep packs a matrix of the shape of an input, under the conditions of Bind, and returns a
	// function that makes the packed matrix the input from the next Forward on. The function must
	// not run at the same time as other methods of the program. Keep returns nil if it cannot keep
	// a matrix in this form; Bind can then bind it.
	Keep(v View, m matrix.Matrix) (use func(), err error)
}

// LayerKeeper is a Device that sets how much memory Forward may use to keep layers of pictures for
// Backward.
type LayerKeeper interface {
	// KeptBytes returns the largest size of the kept layers in bytes. Backward computes larger
	// layers again.
	KeptBytes() int
}

// Rester is a Program that can give back the memory of its values between passes.
type Rester interface {
	// Rest gives back the memory of the values that Forward keeps for Backward and for Contents. The
	// next Forward takes memory again. Until then, Backward and Contents return ErrRests. Rest does
	// nothing if the values lie in files.
	Rest()
	// Yield lets a later pass of another program of the device that yields call Rest, and take the
	// memory.
	Yield()
}

// ErrRests is the error of Backward and Contents at rest, and before the first Forward.
var ErrRests = errors.New("there are no values of a forward pass: call Forward first")

// Grader is a Program whose products with the data can be coarse: faster and less accurate.
type Grader interface {
	// CoarseRoundoff returns the rounding error of coarse products; 0 if the program has none.
	CoarseRoundoff() float64
	// SetCoarse makes the products of the following passes coarse or accurate.
	SetCoarse(coarse bool)
	// Coarse reports whether the products are coarse.
	Coarse() bool
}

// Processes add sums over the processes that share the rows of a plan. All processes make the same
// calls with vectors of the same length. Each call replaces x by the sum of the x of all processes,
// in the order of their ranks, and all get the same bits.
type Processes interface {
	// Rank returns the number of this process, from 0, and Size the number of processes.
	Rank() int
	Size() int
	Sum(x []float64) error
	// SumFloat32 adds in float64 and rounds each sum once.
	SumFloat32(x []float32) error
}

// ErrNotBytes is wrapped by the error of Bind if the products of an input read 8-bit values and the
// new rows are not 8-bit values with the same scale.
var ErrNotBytes = errors.New("rows are not 8-bit values with the scale of the data")

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

// allProducts lists the kinds of products.
func allProducts() []Products {
	return []Products{AutoProducts, Float32, TF32, Int8, Int8x3, Int8x2, BF16x3, BF16x2}
}

// Known reports whether p is one of the kinds.
func (p Products) Known() bool { return slices.Contains(allProducts(), p) }

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
	for _, p := range allProducts() {
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
