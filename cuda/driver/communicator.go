package driver

import (
	"errors"
	"time"
)

// ErrNoCommunicator is wrapped by the error of Join if no library can join the devices: the library
// is not installed, is turned off, or does not work on this machine.
var ErrNoCommunicator = errors.New("NCCL cannot join the GPUs")

// Transfer is a copy from the memory of one device to the memory of another.
type Transfer struct {
	From, To       int     // the numbers of the devices in the communicator, from 0
	Source, Target Pointer // memory of the device From and of the device To
	Bytes          int
}

// Communicator copies between the memory of devices. The devices need no access to each other's
// memory.
type Communicator interface {
	// Library names the library with its version: "NCCL 2.21.5".
	Library() string
	// Transfer queues a group of transfers. streams[k] is a stream of device k. A transfer runs after
	// the earlier work on the streams of its two devices. The later work on the stream of the device
	// From runs after the source was read, and the later work on the stream of the device To after the
	// target was written. The transfers of a group run at the same time, so no transfer may write
	// memory that another transfer of the group reads or writes. After an error the communicator can
	// only be closed.
	//
	// If the communicator joins devices of several processes, streams are those of this process's
	// devices, and a group has the transfers with a device of this process. All processes queue the
	// same groups in the same order. Only the addresses in this process's memory count.
	Transfer(streams []Stream, group []Transfer) error
	// Err returns the error for which the communicator itself ended transfers: another process, or the
	// network, failed. The target memory is then undefined.
	Err() error
	// Limit aborts the communicator after a time, unless the caller calls end before.
	Limit(t time.Duration) (end func())
	// Close releases the communicator. The caller has waited for the transfers.
	Close() error
	// Abort ends transfers that wait for a device that failed, and releases the communicator. Close
	// does nothing afterwards.
	Abort()
}

// Joiner is a Driver whose device can be joined with other devices.
type Joiner interface {
	// Join returns a communicator of devices of this machine. Their drivers have the same kind, and
	// the first device is this one. An error that wraps ErrNoCommunicator leaves the devices as they
	// were.
	Join(devices []Driver) (Communicator, error)
}

// Gatherer is a Driver whose device can be joined with devices of other processes. All processes
// call Meet, then Gather. Errors that wrap ErrNoCommunicator leave the devices as they were.
type Gatherer interface {
	// Meet opens the library, and returns what the processes must know to find each other, of the same
	// length in all processes. Only what process 0 gets, which leads, is used.
	Meet(leads bool) (meeting []byte, err error)
	// Gather returns a communicator of total devices. The given devices of this process have the
	// numbers from first on, and the first of them is this one. meeting is process 0's. Gather returns
	// an error after a limit of time if another process does not call it.
	Gather(meeting []byte, devices []Driver, first, total int) (Communicator, error)
}
