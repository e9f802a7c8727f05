package cuda

import (
	"fmt"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/internal/plan"
)

// bytes8 is a data matrix scale U of 8-bit U, on the device as bfloat16 alone: integers up to 255 fit its 8 bits. U serves both products,
// as it is and transposed.
type bytes8 struct {
	at                 driver.Pointer
	rows, cols, stride int
	scale              float64
}

// tensorRow is what rows of bfloat16 are padded to, so that each begins at 16 bytes: what tensor cores are fed by.
const tensorRow = 8

func padded(cols int) int { return (cols + tensorRow - 1) / tensorRow * tensorRow }

const bfloat16Bytes = 2

// from is where a row begins.
func (x *bytes8) from(row int) driver.Pointer { return x.at.Offset(row * x.stride * bfloat16Bytes) }

// readAsBytes says whether a buffer is 8-bit data that all steps read as the whole first factor of a product, and those are in slices.
func (p *Program) readAsBytes(buffer int) bool {
	data, ok := p.plan.DataOf(buffer).(plan.Bytes)
	if !ok || p.device.options.Slices == 0 || p.dtype != kernels.Float32 || len(p.readers[buffer]) == 0 {
		return false
	}
	rows, cols := data.Dims()
	for _, s := range p.readers[buffer] {
		product, ok := s.(*plan.Product)
		if !ok || product.B.Buffer == buffer || product.A.Rows != rows || product.A.Cols != cols || product.A.Stride != cols {
			return false
		}
	}
	return true
}

// loadBFloat16s makes the device's form of 8-bit data; values that are bound before they are read are 0 until then.
func (p *Program) loadBFloat16s(buffer int, data plan.Bytes) error {
	values, scale := data.Bytes()
	rows, cols := data.Dims()
	x := &bytes8{rows: rows, cols: cols, stride: padded(cols), scale: scale}
	var err error
	if x.at, err = p.allocate(p.describe(buffer)+" as bfloat16", rows*x.stride*bfloat16Bytes); err != nil {
		return err
	}
	p.eight[buffer] = x
	if values == nil {
		return p.device.driver.Clear(p.device.stream, x.at, rows*x.stride*bfloat16Bytes)
	}
	return p.widen(x, values)
}

// widen uploads bytes, some rows at a time, and widens them on the device.
func (p *Program) widen(x *bytes8, values []uint8) error {
	most := min(max(stageBytes/x.cols, 1), x.rows)
	narrow, err := p.device.memory.allocate("bytes of 8-bit data", most*x.cols)
	if err != nil {
		return err
	}
	defer p.device.memory.release(narrow)
	for from := 0; from < x.rows; from += most {
		to := min(from+most, x.rows)
		if err := p.device.uploadBytes(narrow, values[from*x.cols:to*x.cols]); err != nil {
			return err
		}
		wide := kernels.BFloat16s{At: []driver.Pointer{x.from(from)}, Stride: x.stride}
		if err := p.set.WidenBFloat16(&p.device.queue, wide, narrow, to-from, x.cols); err != nil {
			return err
		}
	}
	return nil
}

// bindBytes turns values back into the bytes that they are of, and refuses others: element = float32(scale byte).
func (p *Program) bindBytes(buffer int, data any) error {
	x := p.eight[buffer]
	values, ok := data.([]float32)
	if !ok || len(values) != x.rows*x.cols {
		return fmt.Errorf("cuda: the value of %s is %T, want %d float32", p.describe(buffer), data, x.rows*x.cols)
	}
	bytes, inverse := make([]uint8, len(values)), 1/x.scale
	for i, v := range values {
		u := float64(v)*inverse + 0.5
		if !(u >= 0 && u < 256) || float32(float64(uint8(u))*x.scale) != v {
			return fmt.Errorf("cuda: row %d of %s has %g in column %d, which is no 8-bit value times %g; train with --products float32",
				i/x.cols, p.describe(buffer), v, i%x.cols, x.scale)
		}
		bytes[i] = uint8(u)
	}
	return p.widen(x, bytes)
}

// Products names how products with the data are computed: bf16x3 or bf16x2 if any are in slices, else tf32 or the numbers' type.
func (p *Program) Products() string {
	switch {
	case len(p.eight) > 0:
		return fmt.Sprintf("bf16x%d", p.device.options.Slices)
	case p.dtype == kernels.Float64:
		return "float64"
	case p.device.options.Products == driver.TF32:
		return "tf32"
	}
	return "float32"
}
