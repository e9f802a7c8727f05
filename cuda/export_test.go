package cuda

// SetSums sets how many bytes of integer sums a device has in memory at a time.
func SetSums(d *Device, bytes int) { d.sums = bytes }
