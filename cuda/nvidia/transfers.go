//go:build gpu

package nvidia

/*
#include <stdlib.h>
#include "transfers.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// communicator holds NCCL's communicators, one for each device.
type communicator struct {
	lib     *nccl
	devices []*device
	comms   []unsafe.Pointer // of C memory; nil: closed
	list    []C.ppal_transfer
}

// testPatience is the longest time for the transfers that Join tests. A machine whose GPUs cannot
// reach each other may let them wait for ever, without an error.
const testPatience = 20 * time.Second

// Join implements driver.Joiner. Then all devices send each other bytes, and Join compares the sent
// bytes with the received bytes.
func (d *device) Join(devices []driver.Driver) (driver.Communicator, error) {
	return d.joinWithin(testPatience, devices)
}

// joinWithin is Join with another limit of time for the tested transfers.
func (d *device) joinWithin(patience time.Duration, devices []driver.Driver) (driver.Communicator, error) {
	c := &communicator{}
	var ordinals []C.int
	for _, other := range devices {
		o, ok := other.(*device)
		if !ok || slices.Contains(c.devices, o) {
			return nil, errors.New("cuda: NCCL joins only different devices of this machine")
		}
		c.devices, ordinals = append(c.devices, o), append(ordinals, C.int(o.info.Ordinal))
	}
	if len(c.devices) == 0 || c.devices[0] != d {
		return nil, errors.New("cuda: the first device to join must be this device")
	}
	var err error
	if c.lib, err = openNCCL(); err != nil {
		return nil, err
	}
	if err := c.init(ordinals); err != nil {
		return nil, err
	}
	if err := c.test(patience); err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: %w: %w", driver.ErrNoCommunicator, err), c.Close())
	}
	return c, nil
}

func (c *communicator) init(ordinals []C.int) error {
	if err := c.devices[0].enter(); err != nil {
		return err
	}
	defer c.devices[0].leave()
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
	result := C.ppal_nccl_transfer(&c.lib.functions, &c.comms[0], C.int(len(c.comms)), (*C.uint64_t)(&streams[0]), &c.list[0],
		C.int(len(c.list)), &call)
	if result == 0 {
		return nil
	}
	err := error(c.lib.failed("send sums to other GPUs", C.GoString(call), c.comms[0], result))
	c.Abort()
	return err
}

// Abort implements driver.Communicator. It ignores the results: the caller has the first error.
func (c *communicator) Abort() {
	for _, comm := range c.comms {
		C.ppal_nccl_abort(&c.lib.functions, comm)
	}
	c.comms = nil
}

// Close implements driver.Communicator.
func (c *communicator) Close() error {
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

// testedBytes is the size of the tested transfers: more than a packet of NCCL's protocol for small
// messages.
const testedBytes = 1 << 20

// test lets every device send random bytes to all others, and compares what arrives. It aborts the
// communicators if the transfers take longer than patience.
func (c *communicator) test(patience time.Duration) (err error) {
	n := len(c.devices)
	sent, streams := make([][]byte, n), make([]driver.Stream, n)
	outbox, inbox := make([]driver.Pointer, n), make([]driver.Pointer, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for k, d := range c.devices {
		sent[k] = make([]byte, testedBytes)
		for i := range sent[k] {
			sent[k][i] = byte(rng.Uint32())
		}
		if streams[k], err = d.NewStream(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.FreeStream(streams[k])) }()
		if outbox[k], err = d.Allocate(testedBytes); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Free(outbox[k])) }()
		if inbox[k], err = d.Allocate(n * testedBytes); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Free(inbox[k])) }()
		if err := d.Upload(streams[k], outbox[k], sent[k]); err != nil {
			return err
		}
	}
	var group []driver.Transfer
	for from := range n {
		for to := range n {
			if to != from {
				group = append(group, driver.Transfer{From: from, To: to, Source: outbox[from],
					Target: inbox[to].Offset(from * testedBytes), Bytes: testedBytes})
			}
		}
	}
	if err := c.Transfer(streams, group); err != nil {
		return err
	}
	aborted := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		c.Abort() // the waits below end
		close(aborted)
	})
	defer func() {
		if !timer.Stop() {
			<-aborted // all of them, before the streams are freed
			err = fmt.Errorf("the first transfers of %s did not end within %v (%s=none leaves NCCL out)", c.Library(), patience, NCCLFile)
		}
	}()
	for _, t := range group {
		d, got := c.devices[t.To], make([]byte, testedBytes)
		if err := errors.Join(d.Download(streams[t.To], got, t.Target), d.Synchronize(streams[t.To])); err != nil {
			return err
		}
		if !bytes.Equal(got, sent[t.From]) {
			return fmt.Errorf("%s changed the bytes that cuda:%d sent to cuda:%d", c.Library(), c.devices[t.From].info.Ordinal, d.info.Ordinal)
		}
	}
	return nil
}
