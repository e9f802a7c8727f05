package plan

// RunRegion runs one region.
func (r *Reference[T]) RunRegion(region Region) error { return r.region(region) }

// SetKeptBytes sets the size of the layers of pictures that are kept, until the test ends.
func SetKeptBytes(t interface{ Cleanup(func()) }, bytes int) {
	before := keptBytes
	keptBytes = bytes
	t.Cleanup(func() { keptBytes = before })
}
