//go:build gpu

package nvidia_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/cuda"
	"ppal/cuda/driver"
	"ppal/cuda/nvidia"
)

// openDevices opens devices of the stub, whose NCCL is turned on, and closes them when the test
// ends.
func openDevices(t *testing.T, n int) (list []driver.Driver) {
	t.Helper()
	t.Setenv("PPAL_STUB_DEVICES", "3")
	t.Setenv("PPAL_STUB_NAME", "Stub")
	t.Setenv(nvidia.NCCLFile, stubFile)
	for k := range n {
		d := must[driver.Driver](t)(nvidia.Open(k))
		t.Cleanup(func() { ok(t, d.Close()) })
		list = append(list, d)
	}
	return list
}

// join joins devices, of which the first is the last one.
func join(list []driver.Driver) (driver.Communicator, error) {
	slices.Reverse(list)
	return list[0].(driver.Joiner).Join(list)
}

// A group of transfers copies to every device, on its stream. Close destroys the communicators.
func TestTransfer(t *testing.T) {
	list := openDevices(t, 3)
	lines := logTo(t)
	c := must[driver.Communicator](t)(join(list))
	if got := c.Library(); got != "NCCL 2.21.5" {
		t.Errorf("the library is %s", got)
	}
	var at []driver.Pointer
	var streams []driver.Stream
	for k, d := range list {
		at = append(at, buffer(t, d, bytes.Repeat([]byte{byte(k + 1)}, 300)))
		streams = append(streams, must[driver.Stream](t)(d.NewStream()))
	}
	from := len(lines())
	ok(t, c.Transfer(streams, []driver.Transfer{
		{From: 0, To: 1, Source: at[0], Target: at[1].Offset(100), Bytes: 100}, {From: 2, To: 1, Source: at[2], Target: at[1].Offset(200), Bytes: 99},
		{From: 1, To: 0, Source: at[1], Target: at[0].Offset(200), Bytes: 1},
	}))
	ok(t, c.Transfer(streams, nil))
	got := make([]byte, 300)
	ok(t, errors.Join(list[1].Download(streams[1], got, at[1]), list[1].Synchronize(streams[1])))
	want := slices.Concat(bytes.Repeat([]byte{2}, 100), bytes.Repeat([]byte{1}, 100), bytes.Repeat([]byte{3}, 99), []byte{2})
	if !bytes.Equal(got, want) {
		t.Errorf("device 1 has %v", got)
	}
	if c.Transfer(streams[:2], []driver.Transfer{{}}) == nil {
		t.Error("two streams of three devices")
	}
	ok(t, c.Close())
	ok(t, c.Close())
	if c.Transfer(streams, []driver.Transfer{{From: 0, To: 1, Source: at[0], Target: at[1], Bytes: 1}}) == nil {
		t.Error("a transfer after Close")
	}
	if diff := cmp.Diff([]string{"nccl 0 to 1: 100 bytes", "nccl 2 to 1: 99 bytes", "nccl 1 to 0: 1 bytes",
		"destroy 0", "destroy 1", "destroy 2"}, lines()[from:]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"join device 2 as 0 of 3", "join device 1 as 1 of 3", "join device 0 as 2 of 3"}, lines()[:3]); diff != "" {
		t.Error(diff)
	}
	for k, d := range list {
		ok(t, d.FreeStream(streams[k]))
	}
	t.Setenv("PPAL_STUB_NCCL_VERSION", "2804")
	if got := c.Library(); got != "NCCL 2.8.4" {
		t.Errorf("the library is %s", got)
	}
}

// A library that cannot join the devices, that fails in the first transfers, or that changes bytes
// is not used, and the error has NCCL's name, number and description of the failure.
func TestJoinFailures(t *testing.T) {
	list := openDevices(t, 2)
	t.Setenv("PPAL_STUB_LAST_ERROR", "no space in\n/dev/shm")
	for name, code := range map[string]int{"ncclCommInitAll": 2, "ncclGroupStart": 1, "ncclSend": 2, "ncclRecv": 3, "ncclGroupEnd": 6, "ncclCommGetAsyncError": 2} {
		t.Setenv("PPAL_STUB_FAIL", name+"="+string(rune('0'+code)))
		_, err := join(list)
		var failed *driver.Error
		if !errors.Is(err, driver.ErrNoCommunicator) || !errors.As(err, &failed) || failed.Code != code || !strings.HasPrefix(failed.Call, name) {
			t.Errorf("%s: error %v", name, err)
		} else if code == 2 && (failed.Name != "ncclSystemError" || failed.Detail != "unhandled system error: no space in /dev/shm") {
			t.Errorf("%s: %q, %q", name, failed.Name, failed.Detail)
		}
	}
	t.Setenv("PPAL_STUB_FAIL", "")
	t.Setenv("PPAL_STUB_WRONG_NCCL", "1")
	if _, err := join(list); !errors.Is(err, driver.ErrNoCommunicator) || !strings.Contains(err.Error(), "NCCL 2.21.5 changed the bytes that cuda:") {
		t.Errorf("wrong bytes: error %v", err)
	}
	t.Setenv("PPAL_STUB_WRONG_NCCL", "")
	for what, other := range map[string][]driver.Driver{"none": nil, "a device twice": {list[0], list[0]}, "another first": {list[1], list[0]}} {
		if _, err := list[0].(driver.Joiner).Join(other); err == nil {
			t.Errorf("joined %s", what)
		}
	}
}

// If the first transfers never end, the communicators are aborted after a while, the waits end, and
// the devices can be used and closed.
func TestFirstTransfersHang(t *testing.T) {
	list := openDevices(t, 2)
	lines := logTo(t)
	t.Setenv("PPAL_STUB_HANG_NCCL", "1")
	const patience = 50 * time.Millisecond
	_, err := nvidia.JoinWithin(patience, list)
	if want := "the first transfers of NCCL 2.21.5 did not end within 50ms (PPAL_NCCL=none leaves NCCL out)"; !errors.Is(err, driver.ErrNoCommunicator) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if got := strings.Join(lines(), "\n"); !strings.Contains(got, "abort 0\nabort 1") || strings.Contains(got, "destroy 0") {
		t.Errorf("the log is %s", got)
	}
	t.Setenv("PPAL_STUB_HANG_NCCL", "")
	ok(t, must[driver.Communicator](t)(nvidia.JoinWithin(time.Minute, list)).Close())
}

// A call of NCCL that never returns is an error after a while. The devices can be closed.
func TestCallsHang(t *testing.T) {
	openDevices(t, 0) // the environment
	for _, call := range []string{"ncclGroupStart", "ncclSend"} {
		got := openIn(t, asked+"="+askedJoin, "PPAL_STUB_HANG="+call)
		late := "cuda: NCCL cannot join the GPUs: the first transfers of NCCL 2.21.5 did not end within 50ms (PPAL_NCCL=none leaves NCCL out)"
		met := late
		if call == "ncclGroupStart" {
			met = "cuda: NCCL cannot join the GPUs: the GPUs of other processes did not meet within 50ms (PPAL_NCCL=none leaves NCCL out)"
		}
		if want := "join: " + late + "\ngather: " + met + "\nclose: <nil> <nil>\n"; got != want {
			t.Errorf("%s never returns: %swant %s", call, got, want)
		}
	}
}

// After a failed transfer the communicators are aborted, so that no device waits for ever.
func TestTransferAborts(t *testing.T) {
	list := openDevices(t, 2)
	c := must[driver.Communicator](t)(join(list))
	at := []driver.Pointer{buffer(t, list[0], make([]byte, 8)), buffer(t, list[1], make([]byte, 8))}
	lines := logTo(t)
	t.Setenv("PPAL_STUB_FAIL", "ncclGroupEnd=1")
	streams := []driver.Stream{must[driver.Stream](t)(list[0].NewStream()), must[driver.Stream](t)(list[1].NewStream())}
	var failed *driver.Error
	err := c.Transfer(streams, []driver.Transfer{{From: 0, To: 1, Source: at[0], Target: at[1], Bytes: 8}})
	if !errors.As(err, &failed) || failed.Name != "ncclUnhandledCudaError" || errors.Is(err, driver.ErrNoCommunicator) {
		t.Errorf("error %v", err)
	}
	ok(t, c.Close())
	if got := lines(); !slices.Equal(got[len(got)-2:], []string{"abort 0", "abort 1"}) {
		t.Errorf("the log is %q", got)
	}
	ok(t, errors.Join(list[0].FreeStream(streams[0]), list[1].FreeStream(streams[1])))
}

// The package finds NCCL in Python environments. A library that is not installed, or that is turned
// off, is not an error of the devices. A named file that is not NCCL is an error.
func TestFindNCCL(t *testing.T) {
	list := openDevices(t, 2)
	dir := t.TempDir()
	t.Setenv("PATH", "")
	t.Setenv("VIRTUAL_ENV", dir)
	folder := filepath.Join(dir, "lib", "python3.12", "site-packages", "nvidia", "nccl", "lib")
	ok(t, os.MkdirAll(folder, 0o755))
	t.Setenv(nvidia.NCCLFile, "")
	if _, err := join(list); !errors.Is(err, driver.ErrNoCommunicator) || !strings.Contains(err.Error(), "libnccl.so.2 was not found; `pip install nvidia-nccl-cu12`") {
		t.Errorf("not installed: error %v", err)
	}
	ok(t, os.Symlink(stubFile, filepath.Join(folder, "libnccl.so.2")))
	ok(t, must[driver.Communicator](t)(join(list)).Close())
	t.Setenv(nvidia.NCCLFile, nvidia.NoNCCL)
	if _, err := join(list); !errors.Is(err, driver.ErrNoCommunicator) || !strings.Contains(err.Error(), "PPAL_NCCL is none") {
		t.Errorf("turned off: error %v", err)
	}
	for file, want := range map[string]string{"libc.so.6": "has no ncclSend", "nowhere.so": "cannot open shared object file"} {
		t.Setenv(nvidia.NCCLFile, file)
		_, err := join(list)
		if err == nil || errors.Is(err, driver.ErrNoCommunicator) || !strings.HasPrefix(err.Error(), "cuda: PPAL_NCCL="+file+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", file, err)
		}
	}
	_, err := cuda.OpenSeveral([]int{0, 1}, nvidia.Open, cuda.Options{GPUSums: cuda.NCCLSums})
	if err == nil || !strings.HasPrefix(err.Error(), "PPAL_GPU_SUMS=nccl: cuda: PPAL_NCCL=") {
		t.Errorf("error %v", err)
	}
}
