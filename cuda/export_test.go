package cuda

// SetSums sets the number of bytes of integer sums that a device keeps in memory at a time.
func SetSums(d *Device, bytes int) { d.sums = bytes }
