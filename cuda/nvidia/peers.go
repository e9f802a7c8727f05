//go:build gpu

package nvidia

// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"

	"ppal/cuda/driver"
)

var _ driver.Peers = (*device)(nil)

// EnablePeer implements driver.Peers. Access stays enabled as long as the primary context lives.
// Wait needs nothing: a stream may wait for the event of any context.
func (d *device) EnablePeer(other driver.Driver) error {
	o, ok := other.(*device)
	if !ok || o == d {
		return errors.New("cuda: access to memory that does not belong to another device")
	}
	if o.context == d.context { // the same GPU, opened twice
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	var can C.int
	err := answered("ask for access to another device's memory", fmt.Sprintf("cuDeviceCanAccessPeer(&can, %d, %d)", d.number, o.number),
		C.cuDeviceCanAccessPeer(&can, C.CUdevice(d.number), C.CUdevice(o.number)))
	if err != nil {
		return err
	}
	if can == 0 {
		return driver.ErrNoPeer
	}
	result := C.cuCtxEnablePeerAccess(o.context, 0)
	switch result {
	case C.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
		return nil
	case C.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, C.CUDA_ERROR_TOO_MANY_PEERS:
		return driver.ErrNoPeer
	}
	return answered("read another device's memory", fmt.Sprintf("cuCtxEnablePeerAccess(c%d, 0)", o.number), result)
}
