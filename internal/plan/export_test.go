package plan

// RunRegion runs one region.
func (r *Reference[T]) RunRegion(region Region) error { return r.region(region) }
