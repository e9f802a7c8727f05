//go:build gpu

package nvidia

/*
#include <stdlib.h>
#include "transfers.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"ppal/cuda/driver"
)

var _ driver.Gatherer = (*device)(nil)

// A meeting is NCCL's id, which process 0 makes, and the library's version.
const meetingBytes = len(C.ppal_nccl_id{}.bytes) + 4

// Meet implements driver.Gatherer.
func (d *device) Meet(leads bool) ([]byte, error) {
	lib, err := openNCCL()
	if err != nil {
		return nil, err
	}
	meeting := make([]byte, 0, meetingBytes)
	var id C.ppal_nccl_id
	if leads {
		if result := C.ppal_nccl_get_id(&lib.functions, &id); result != 0 {
			e := lib.failed("let processes meet", "ncclGetUniqueId(id)", nil, result)
			e.Err = driver.ErrNoCommunicator
			return nil, e
		}
	}
	for _, b := range id.bytes {
		meeting = append(meeting, byte(b))
	}
	return append(meeting, lib.versionBytes()...), nil
}

// versionBytes returns the number of the library's version.
func (l *nccl) versionBytes() []byte {
	var v C.int
	C.ppal_nccl_version(&l.functions, &v) // 0 after an error
	return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
}

// Gather implements driver.Gatherer. Then all devices send each other bytes, as in Join.
func (d *device) Gather(meeting []byte, devices []driver.Driver, first, total int) (driver.Communicator, error) {
	return d.gatherWithin(testPatience, meeting, devices, first, total)
}

// gatherWithin is Gather with another limit of time.
func (d *device) gatherWithin(patience time.Duration, meeting []byte, devices []driver.Driver, first, total int) (driver.Communicator, error) {
	c := &communicator{first: first, total: total}
	if err := c.take(d, devices); err != nil {
		return nil, err
	}
	var err error
	if c.lib, err = openNCCL(); err != nil {
		return nil, err
	}
	if len(meeting) != meetingBytes {
		return nil, fmt.Errorf("cuda: a meeting of %d bytes, want %d", len(meeting), meetingBytes)
	}
	version := meeting[len(C.ppal_nccl_id{}.bytes):]
	if string(version) != string(c.lib.versionBytes()) {
		return nil, fmt.Errorf("cuda: %w: this process has %s, and process 0 has another version", driver.ErrNoCommunicator, c.Library())
	}
	err = c.within(patience, func() error { return c.initRanks(meeting) }, func() error {
		return fmt.Errorf("cuda: %w: the GPUs of other processes did not meet within %v (%s=none leaves NCCL out)", driver.ErrNoCommunicator, patience, NCCLFile)
	})
	if err != nil {
		return nil, err
	}
	if err := c.test(patience); err != nil {
		c.Abort() // does not wait for other processes
		return nil, fmt.Errorf("cuda: %w: %w", driver.ErrNoCommunicator, err)
	}
	go c.watch()
	return c, nil
}

// initRanks joins this process's devices with those of the other processes.
func (c *communicator) initRanks(meeting []byte) error {
	if err := c.devices[0].enter(); err != nil { // a group belongs to a thread
		return err
	}
	defer c.devices[0].leave()
	var id C.ppal_nccl_id
	for i := range id.bytes {
		id.bytes[i] = C.char(meeting[i])
	}
	n := len(c.devices)
	comms := unsafe.Slice((*unsafe.Pointer)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0))))), n) // NCCL writes here when the group ends
	defer C.free(unsafe.Pointer(&comms[0]))
	if result := C.ppal_nccl_group_start(&c.lib.functions); result != 0 {
		return c.notJoined("ncclGroupStart", result)
	}
	call, result := "ncclGroupEnd", C.int(0)
	for k := 0; k < len(comms) && result == 0; k++ {
		call = fmt.Sprintf("ncclCommInitRank(c, %d, id, %d)", c.total, c.first+k)
		if err := c.devices[k].enter(); err != nil {
			C.ppal_nccl_group_end(&c.lib.functions)
			return err
		}
		result = C.ppal_nccl_init_rank(&c.lib.functions, &comms[k], C.int(c.total), &id, C.int(c.first+k))
		c.devices[k].leave()
	}
	if end := C.ppal_nccl_group_end(&c.lib.functions); result == 0 {
		result = end
	}
	if result != 0 {
		return c.notJoined(call, result)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.comms = slices.Clone(comms)
	return nil
}

// notJoined returns the error of a call of initRanks.
func (c *communicator) notJoined(call string, result C.int) error {
	e := c.lib.failed("join the GPUs of other processes", call, nil, result)
	e.Err = driver.ErrNoCommunicator
	return e
}

// watchEvery is the time between two looks at the errors of transfers.
const watchEvery = 100 * time.Millisecond

// watch aborts the communicators if NCCL reports that another process or the network failed.
// Otherwise this process's devices would wait for ever. It returns when the communicators are
// closed.
func (c *communicator) watch() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for range ticker.C {
		if c.look() {
			return
		}
	}
}

// look reports whether there is nothing left to watch.
func (c *communicator) look() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.comms == nil {
		return true
	}
	var failing unsafe.Pointer
	if result := C.ppal_nccl_async_error(&c.lib.functions, &c.comms[0], C.int(len(c.comms)), &failing); result != 0 {
		c.err = c.lib.failed("send sums to other processes", "ncclCommGetAsyncError", failing, result)
		c.abort()
	}
	return c.comms == nil
}
