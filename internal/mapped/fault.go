package mapped

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// FaultError is the error of a read of a mapped page that failed.
type FaultError struct {
	Path string // path of the file when it was mapped
}

// Error implements error.
func (e *FaultError) Error() string {
	return fmt.Sprintf("the rows in %s cannot be read: another process shortened the file, or the disk fails", e.Path)
}

// Fault converts the value of a panic (relay.Guard) to an error if a mapped page of a Dir caused
// the panic. The result is nil for the value of another panic.
func Fault(value any) *FaultError {
	at, ok := value.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	return faults.find(at.Addr())
}

// mappings has the address ranges of the mapped files of all Dirs of the process. A range stays in
// the list after its Dir is closed, because a deferred Close runs before Fault sees the panic.
type mappings struct {
	mutex sync.Mutex
	list  []mapping
}

// mapping is the address range of a mapped file.
type mapping struct {
	from, to uintptr
	path     string
}

// faults has the mappings of the process, for Fault.
var faults mappings

// add adds the mapping of a file, and removes older mappings of the same addresses.
func (m *mappings) add(memory []byte, path string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	from := uintptr(unsafe.Pointer(&memory[0]))
	own := mapping{from, from + uintptr(len(memory)), path}
	m.list = slices.DeleteFunc(m.list, func(old mapping) bool { return old.from < own.to && own.from < old.to })
	m.list = append(m.list, own)
}

// find returns the error of a fault at an address, or nil if the address is in no mapping.
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
