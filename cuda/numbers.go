package cuda

import (
	"unsafe"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// raw returns the memory of numbers.
func raw[T plan.Float | int32 | int64](numbers []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), len(numbers)*int(unsafe.Sizeof(zero)))
}

// typed is the inverse of raw, for memory that is aligned to T.
func typed[T plan.Float](bytes []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/int(unsafe.Sizeof(zero)))
}

// dtypeOf returns the kernels' type for T.
func dtypeOf[T plan.Float]() kernels.Dtype {
	if unsafe.Sizeof(*new(T)) == 4 {
		return kernels.Float32
	}
	return kernels.Float64
}

// uploadNumbers copies numbers to the device, rounded to the type.
func (d *Device) uploadNumbers(t kernels.Dtype, at driver.Pointer, numbers []float64) error {
	if t == kernels.Float32 {
		return uploadRounded[float32](d, at, numbers)
	}
	return uploadRounded[float64](d, at, numbers)
}

func uploadRounded[T plan.Float](d *Device, at driver.Pointer, numbers []float64) error {
	return d.staging.upload(at, len(numbers), dtypeOf[T]().Size(), func(dst []byte, from, to int) {
		rounded := typed[T](dst)
		for i, x := range numbers[from:to] {
			rounded[i] = T(x)
		}
	})
}

// uploadBytes copies bytes to the device.
func (d *Device) uploadBytes(at driver.Pointer, contents []byte) error {
	return d.staging.upload(at, len(contents), 1, func(dst []byte, from, to int) { copy(dst, contents[from:to]) })
}

// uploadRows copies rows [from, to) of 8-bit data, one after the other.
func (d *Device) uploadRows(at driver.Pointer, data matrix.EightBit, from, to int) error {
	_, cols := data.Dims()
	return d.staging.upload(at, to-from, cols, func(dst []byte, first, end int) {
		for i := first; i < end; i++ {
			row := dst[(i-first)*cols:][:cols]
			copy(row, data.ByteRow(from+i, row))
		}
	})
}

// downloadNumbers copies count numbers of the type from the device, widened to float64.
func (d *Device) downloadNumbers(t kernels.Dtype, at driver.Pointer, count int, dst []float64) error {
	return d.staging.download(at, count, t.Size(), func(src []byte, from, to int) {
		if t == kernels.Float64 {
			copy(dst[from:to], typed[float64](src))
			return
		}
		for i, x := range typed[float32](src) {
			dst[from+i] = float64(x)
		}
	})
}
