//go:build gpu

package nvidia

import (
	"time"

	"ppal/cuda/driver"
)

// JoinWithin joins devices. The tested transfers may take as long as patience.
func JoinWithin(patience time.Duration, devices []driver.Driver) (driver.Communicator, error) {
	return devices[0].(*device).joinWithin(patience, devices)
}

// GatherWithin joins devices with those of other processes. Each step may take as long as patience.
func GatherWithin(patience time.Duration, meeting []byte, devices []driver.Driver, first, total int) (driver.Communicator, error) {
	return devices[0].(*device).gatherWithin(patience, meeting, devices, first, total)
}
