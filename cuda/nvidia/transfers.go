//go:build gpu

package nvidia

/*
#include <stdlib.h>
#include "transfers.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"ppal/cuda/driver"
)

// NCCLFile is the environment variable that names the NCCL library if the search does not find it.
// The value NoNCCL means that NCCL is not used.
const (
	NCCLFile = "PPAL_NCCL"
	NoNCCL   = "none"
)

// ncclName is the file name of NCCL 2, the only major version with the functions that this package
// calls.
const ncclName = "libnccl.so.2"

// nccl is the open NCCL library, which stays open for the life of the process.
type nccl struct{ functions C.ppal_nccl }

// openNCCL opens the NCCL file that the environment names. Without a name, it tries the loader, and
// then the usual folders of toolkits and Python environments. If no file is found, the error wraps
// driver.ErrNoCommunicator.
func openNCCL() (*nccl, error) {
	if file := os.Getenv(NCCLFile); file == NoNCCL {
		return nil, fmt.Errorf("cuda: %w: %s is %s", driver.ErrNoCommunicator, NCCLFile, NoNCCL)
	} else if file != "" {
		lib, err := openNCCLFile(file)
		if err != nil {
			return nil, fmt.Errorf("cuda: %s=%s: %w", NCCLFile, file, err)
		}
		return lib, nil
	}
	for _, folders := range []func() []string{func() []string { return append([]string{""}, libraryFolders(os.Getenv)...) }, askedFolders} {
		for _, folder := range folders() {
			file := filepath.Join(folder, ncclName)
			if _, err := os.Stat(file); err != nil && folder != "" {
				continue
			}
			if lib, err := openNCCLFile(file); err == nil {
				return lib, nil
			}
		}
	}
	return nil, fmt.Errorf("cuda: %w: %s was not found; `pip install nvidia-nccl-cu12` has it, and %s can name the file",
		driver.ErrNoCommunicator, ncclName, NCCLFile)
}

func openNCCLFile(file string) (*nccl, error) {
	lib := &nccl{}
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	var why [512]C.char
	if C.ppal_nccl_open(&lib.functions, path, &why[0], C.size_t(len(why))) != 0 {
		return nil, errors.New(C.GoString(&why[0]))
	}
	return lib, nil
}

// version returns the library's name and version. NCCL numbers 2.8.4 as 2804, and 2.9.6 as 20906.
func (l *nccl) version() string {
	var v C.int
	if C.ppal_nccl_version(&l.functions, &v) != 0 {
		return "NCCL of unknown version"
	}
	const newNumbers = 10000
	if v < newNumbers {
		return fmt.Sprintf("NCCL %d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("NCCL %d.%d.%d", v/newNumbers, v%newNumbers/100, v%100)
}

// ncclResults are the names of ncclResult_t, from 1 on.
var ncclResults = []string{"ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidArgument", "ncclInvalidUsage",
	"ncclRemoteError", "ncclInProgress"}

// failed returns the error of a failed NCCL call.
func (l *nccl) failed(operation, call string, comm unsafe.Pointer, result C.int) *driver.Error {
	e := &driver.Error{Operation: operation, Call: call, Code: int(result), Name: "ncclResult_t",
		Detail: C.GoString(C.ppal_nccl_string(&l.functions, result))}
	if i := int(result) - 1; i >= 0 && i < len(ncclResults) {
		e.Name = ncclResults[i]
	}
	if last := strings.Join(strings.Fields(C.GoString(C.ppal_nccl_last_error(&l.functions, comm))), " "); last != "" {
		e.Detail += ": " + last
	}
	e.File, e.Line = caller()
	return e
}

// communicator holds NCCL's communicators, one for each device of this process.
type communicator struct {
	lib          *nccl
	devices      []*device // of this process
	first, total int       // the number of devices[0] among all devices, and their number
	list         []C.ppal_transfer
	lost         bool // a call of NCCL did not return: nothing can be called any more

	lock  sync.Mutex       // for the following fields, which the goroutines of limits and watch use too
	comms []unsafe.Pointer // of C memory; nil: closed
	err   error            // why watch ended the transfers
}

// testPatience is the longest time for each of the calls with which devices join, and for the
// transfers that Join and Gather test. A machine whose GPUs cannot reach each other may let them
// wait for ever, without an error.
const testPatience = 20 * time.Second

// Join implements driver.Joiner. Then all devices send each other bytes, and Join compares the sent
// bytes with the received bytes.
func (d *device) Join(devices []driver.Driver) (driver.Communicator, error) {
	return d.joinWithin(testPatience, devices)
}

// joinWithin is Join with another limit of time for the tested transfers.
func (d *device) joinWithin(patience time.Duration, devices []driver.Driver) (driver.Communicator, error) {
	c := &communicator{total: len(devices)}
	if err := c.take(d, devices); err != nil {
		return nil, err
	}
	var err error
	if c.lib, err = openNCCL(); err != nil {
		return nil, err
	}
	if err := c.init(); err != nil {
		return nil, err
	}
	if err := c.test(patience); err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: %w: %w", driver.ErrNoCommunicator, err), c.Close())
	}
	return c, nil
}

// take sets the devices, of which the first is d.
func (c *communicator) take(d *device, devices []driver.Driver) error {
	for _, other := range devices {
		o, ok := other.(*device)
		if !ok || slices.Contains(c.devices, o) {
			return errors.New("cuda: NCCL joins only different devices of this machine")
		}
		c.devices = append(c.devices, o)
	}
	if len(c.devices) == 0 || c.devices[0] != d {
		return errors.New("cuda: the first device to join must be this device")
	}
	return nil
}

// init joins devices of which this process has all.
func (c *communicator) init() error {
	if err := c.devices[0].enter(); err != nil {
		return err
	}
	defer c.devices[0].leave()
	var ordinals []C.int
	for _, d := range c.devices {
		ordinals = append(ordinals, C.int(d.info.Ordinal))
	}
	comms := make([]unsafe.Pointer, len(ordinals))
	if result := C.ppal_nccl_init(&c.lib.functions, &comms[0], C.int(len(ordinals)), &ordinals[0]); result != 0 {
		e := c.lib.failed("join GPUs", fmt.Sprintf("ncclCommInitAll(c, %d, %v)", len(ordinals), ordinals), nil, result)
		e.Err = driver.ErrNoCommunicator
		return e
	}
	c.comms = comms
	return nil
}

// Library implements driver.Communicator.
func (c *communicator) Library() string { return c.lib.version() }

// Transfer implements driver.Communicator. After an error it aborts the communicator, so that no
// device waits for a transfer that never comes.
func (c *communicator) Transfer(streams []driver.Stream, group []driver.Transfer) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.comms == nil || len(streams) != len(c.comms) {
		return fmt.Errorf("cuda: a closed communicator, or %d streams", len(streams))
	}
	if len(group) == 0 {
		return nil
	}
	if err := c.devices[0].enter(); err != nil {
		return err
	}
	defer c.devices[0].leave()
	c.list = c.list[:0]
	for _, t := range group {
		c.list = append(c.list, C.ppal_transfer{from: C.int(t.From), to: C.int(t.To), source: C.uint64_t(t.Source),
			target: C.uint64_t(t.Target), bytes: C.size_t(t.Bytes)})
	}
	var call *C.char
	result := C.ppal_nccl_transfer(&c.lib.functions, &c.comms[0], C.int(c.first), C.int(len(c.comms)), (*C.uint64_t)(&streams[0]), &c.list[0],
		C.int(len(c.list)), &call)
	if result == 0 {
		return nil
	}
	err := error(c.lib.failed("send sums to other GPUs", C.GoString(call), c.comms[0], result))
	c.abort()
	return err
}

// Err implements driver.Communicator.
func (c *communicator) Err() error {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.err
}

// Abort implements driver.Communicator.
func (c *communicator) Abort() {
	if c.lost {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.abort()
}

// abort aborts the communicators, and ignores the results: the caller has the first error. The
// caller holds the lock.
func (c *communicator) abort() {
	for _, comm := range c.comms {
		C.ppal_nccl_abort(&c.lib.functions, comm)
	}
	c.comms = nil
}

// Limit implements driver.Communicator.
func (c *communicator) Limit(t time.Duration) (end func()) {
	timer := time.AfterFunc(t, c.Abort)
	return func() { timer.Stop() }
}

// Close implements driver.Communicator.
func (c *communicator) Close() error {
	if c.lost {
		return nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.comms == nil {
		return nil
	}
	if err := c.devices[0].enter(); err != nil {
		return err
	}
	defer c.devices[0].leave()
	var first error
	for _, comm := range c.comms {
		if result := C.ppal_nccl_destroy(&c.lib.functions, comm); result != 0 && first == nil {
			first = c.lib.failed("leave the other GPUs", "ncclCommDestroy(c)", nil, result)
		}
	}
	c.comms = nil
	return first
}
