//go:build gpu

package nvidia

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"ppal/internal/cuda/driver"
)

// stream and event convert handles to cu's types, which are structures with one pointer.
func stream(s driver.Stream) cu.Stream { return handle[cu.Stream](s) }
func event(e driver.Event) cu.Event    { return handle[cu.Event](e) }

// handle converts between the handle types of package driver, of cu and of the driver's library.
func handle[To, From any](h From) To { return *(*To)(unsafe.Pointer(&h)) }

// The conversion is valid because all handles have the size of one pointer; the program does not
// compile otherwise.
var (
	_ [unsafe.Sizeof(cu.Stream{}) - unsafe.Sizeof(driver.Stream(0))]struct{}
	_ [unsafe.Sizeof(driver.Stream(0)) - unsafe.Sizeof(cu.Stream{})]struct{}
	_ [unsafe.Sizeof(cu.Event{}) - unsafe.Sizeof(driver.Event(0))]struct{}
	_ [unsafe.Sizeof(cu.Function{}) - unsafe.Sizeof(driver.Function(0))]struct{}
	_ [unsafe.Sizeof(cu.Module{}) - unsafe.Sizeof(driver.Module(0))]struct{}
	_ [unsafe.Sizeof(cu.CUContext{}) - unsafe.Sizeof(uintptr(0))]struct{}
)

// NewStream implements driver.Driver.
func (d *device) NewStream() (driver.Stream, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	made, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return 0, failed("make a stream", "cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)", err)
	}
	s := handle[driver.Stream](made)
	d.streams[s] = true
	return s, nil
}

// FreeStream implements driver.Driver.
func (d *device) FreeStream(s driver.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	delete(d.streams, s)
	first := d.products.drop(s)
	made := stream(s)
	if err := failed("free a stream", fmt.Sprintf("cuStreamDestroy(%#x)", s), made.Destroy()); err != nil {
		return err
	}
	return first
}

// Synchronize implements driver.Driver.
func (d *device) Synchronize(s driver.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := stream(s).Synchronize(); err != nil {
		return failed("wait for a stream", fmt.Sprintf("cuStreamSynchronize(%#x)", s), err)
	}
	return nil
}

// NewEvent implements driver.Driver.
func (d *device) NewEvent() (driver.Event, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	made, err := cu.MakeEvent(cu.DefaultEvent)
	if err != nil {
		return 0, failed("make an event", "cuEventCreate(&e, CU_EVENT_DEFAULT)", err)
	}
	e := handle[driver.Event](made)
	d.events[e] = true
	return e, nil
}

// FreeEvent implements driver.Driver.
func (d *device) FreeEvent(e driver.Event) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	delete(d.events, e)
	made := event(e)
	return failed("free an event", fmt.Sprintf("cuEventDestroy(%#x)", e), cu.DestroyEvent(&made))
}

// Record implements driver.Driver.
func (d *device) Record(e driver.Event, s driver.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := event(e).Record(stream(s)); err != nil {
		return failed("record an event", fmt.Sprintf("cuEventRecord(%#x, %#x)", e, s), err)
	}
	return nil
}

// Wait implements driver.Driver.
func (d *device) Wait(s driver.Stream, e driver.Event) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := stream(s).Wait(event(e), 0); err != nil {
		return failed("wait for an event", fmt.Sprintf("cuStreamWaitEvent(%#x, %#x, 0)", s, e), err)
	}
	return nil
}

// Elapsed implements driver.Driver.
func (d *device) Elapsed(from, to driver.Event) (milliseconds float64, err error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	milliseconds, err = event(from).Elapsed(event(to))
	if err != nil {
		return 0, failed("read a time", fmt.Sprintf("cuEventElapsedTime(&ms, %#x, %#x)", from, to), err)
	}
	return milliseconds, nil
}
