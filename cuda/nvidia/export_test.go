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
