//go:build gpu

package nvidia

// #include "calls.h"
import "C"

import (
	"fmt"

	"ppal/internal/cuda/driver"
)

var _ driver.Inspector = (*device)(nil)

// Resources implements driver.Inspector.
func (d *device) Resources(f driver.Function, threads int) (r driver.Resources, err error) {
	if err := d.enter(); err != nil {
		return r, err
	}
	defer d.leave()
	function := handle[C.CUfunction](f)
	for _, a := range []struct {
		to   *int
		what C.CUfunction_attribute
	}{
		{&r.Registers, C.CU_FUNC_ATTRIBUTE_NUM_REGS}, {&r.Local, C.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
		{&r.Shared, C.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
	} {
		var v C.int
		if result := C.cuFuncGetAttribute(&v, a.what, function); result != C.CUDA_SUCCESS {
			return r, answered("read a kernel's resources", fmt.Sprintf("cuFuncGetAttribute(&v, %d, f)", a.what), result)
		}
		*a.to = int(v)
	}
	var blocks C.int
	if result := C.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, C.int(threads), 0); result != C.CUDA_SUCCESS {
		return r, answered("read a kernel's occupancy", fmt.Sprintf("cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, %d, 0)", threads), result)
	}
	r.Resident = int(blocks)
	return r, nil
}
