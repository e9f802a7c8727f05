//go:build gpu

package device

/*
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wno-unused-function -Wno-unknown-pragmas
#include "fibers.h"
*/
import "C"

import (
	"errors"
	"sync"
)

// Kernel is a kernel compiled for the host.
type Kernel struct {
	Name   string // with its ending: margin_loss_f32
	Params []int  // the size of each parameter in bytes
	number C.int
}

// Kernels lists the kernels of all sources.
func Kernels() []Kernel {
	list := make([]Kernel, C.kernels_count())
	for i := range list {
		n := C.int(i)
		k := Kernel{Name: C.GoString(C.kernel_name(n)), number: n}
		for p := range C.kernel_params(n) {
			k.Params = append(k.Params, int(C.kernel_param_size(n, p)))
		}
		list[i] = k
	}
	return list
}

// ErrBarrier is the error of a kernel in which some threads wait at a barrier that other threads
// never reach.
var ErrBarrier = errors.New("threads of a block wait at a barrier that others do not reach")

// launching guards the state of the fibers, which a process has once.
var launching sync.Mutex

// Launch runs the kernel for a grid of blocks, in the order of blocks and threads or, with reverse,
// in the opposite order; a result that depends on the order is a race. args holds a slot of 8 bytes
// for each parameter. Pointers are addresses of the host's memory, which nothing checks.
func (k Kernel) Launch(grid, block [3]int, args []uint64, reverse bool) error {
	launching.Lock()
	defer launching.Unlock()
	var g, b [3]C.uint
	for i := range 3 {
		g[i], b[i] = C.uint(grid[i]), C.uint(block[i])
	}
	slots := make([]C.uint64_t, len(args)+1)
	for i, a := range args {
		slots[i] = C.uint64_t(a)
	}
	order := C.int(0)
	if reverse {
		order = 1
	}
	if C.kernel_launch(k.number, &g[0], &b[0], &slots[0], order) != 0 {
		return ErrBarrier
	}
	return nil
}
