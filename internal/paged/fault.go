package paged

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// FaultError is the error of a page that cannot be read.
type FaultError struct {
	Path string // the file, which may have no name any more
}

// Error implements error.
func (e *FaultError) Error() string {
	return fmt.Sprintf("the rows in %s cannot be read: the file was shortened, or its disk fails", e.Path)
}

// Fault returns the error of a panic (relay.Guard) at a mapped page of a Dir, or nil for the value
// of another panic.
func Fault(value any) *FaultError {
	at, ok := value.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	return faults.find(at.Addr())
}

// mapping is a range of addresses that a file has, or had before its Dir was closed: a deferred
// Close runs before the panic ends.
type mapping struct {
	from, to uintptr
	path     string
}

// mappings are those of all Dirs of the process.
type mappings struct {
	mutex sync.Mutex
	list  []mapping
}

// mostMappings bounds the list. The oldest mappings are probably gone.
const mostMappings = 1 << 14

var faults mappings

// add adds the mapping of a file, whose addresses no older mapping has any more.
func (m *mappings) add(memory []byte, path string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	from := uintptr(unsafe.Pointer(&memory[0]))
	own := mapping{from, from + uintptr(len(memory)), path}
	m.list = slices.DeleteFunc(m.list, func(old mapping) bool { return old.from < own.to && own.from < old.to })
	if len(m.list) == mostMappings {
		m.list = slices.Delete(m.list, 0, mostMappings/2)
	}
	m.list = append(m.list, own)
}

// find returns the error of a fault at an address, or nil if it is in no mapping.
func (m *mappings) find(at uintptr) *FaultError {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, own := range m.list {
		if own.from <= at && at < own.to {
			return &FaultError{own.path}
		}
	}
	return nil
}
