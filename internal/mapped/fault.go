package mapped

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

// mappings are the ranges of addresses of the files of all Dirs of the process. A range stays when
// its Dir is closed, because a deferred Close runs before a panic ends.
type mappings struct {
	mutex sync.Mutex
	list  []mapping
}

type mapping struct {
	from, to uintptr
	path     string
}

var faults mappings

// add adds the mapping of a file, whose addresses no older mapping has any more.
func (m *mappings) add(memory []byte, path string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	from := uintptr(unsafe.Pointer(&memory[0]))
	own := mapping{from, from + uintptr(len(memory)), path}
	m.list = slices.DeleteFunc(m.list, func(old mapping) bool { return old.from < own.to && own.from < old.to })
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
