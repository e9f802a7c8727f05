//go:build gpu

package nvidia_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ppal/cuda/driver"
	"ppal/cuda/nvidia"
)

// member is a process: a goroutine with some devices.
type member struct {
	devices []driver.Driver
	first   int
	c       driver.Communicator
	err     error
}

// gather joins the devices of some processes, of which the first leads. total is the number of all
// devices. The devices close without a communicator at the end of the test.
func gather(t *testing.T, patience time.Duration, total int, parts ...[]driver.Driver) (all []*member) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	meeting := must[[]byte](t)(parts[0][0].(driver.Gatherer).Meet(true))
	var group sync.WaitGroup
	first := 0
	for _, part := range parts {
		m := &member{devices: part, first: first}
		first += len(part)
		all = append(all, m)
		group.Go(func() { m.c, m.err = nvidia.GatherWithin(patience, meeting, part, m.first, total) })
	}
	group.Wait()
	return all
}

// Transfers go between the devices of a process, and between processes.
func TestGather(t *testing.T) {
	list := openDevices(t, 3)
	lines := logTo(t)
	all := gather(t, time.Minute, 3, list[:2], list[2:])
	var at []driver.Pointer
	var streams []driver.Stream
	for k, d := range list {
		at = append(at, buffer(t, d, bytes.Repeat([]byte{byte(k + 1)}, 300)))
		streams = append(streams, must[driver.Stream](t)(d.NewStream()))
	}
	group := []driver.Transfer{
		{From: 0, To: 1, Source: at[0], Target: at[1].Offset(100), Bytes: 100}, {From: 2, To: 1, Source: at[2], Target: at[1].Offset(200), Bytes: 99},
		{From: 1, To: 2, Source: at[1], Target: at[2].Offset(200), Bytes: 1},
	}
	begin := len(lines())
	var both sync.WaitGroup
	for _, m := range all {
		ok(t, m.err)
		both.Go(func() {
			own := slices.DeleteFunc(slices.Clone(group), func(x driver.Transfer) bool {
				has := func(k int) bool { return k >= m.first && k < m.first+len(m.devices) }
				return !has(x.From) && !has(x.To)
			})
			if err := m.c.Transfer(streams[m.first:m.first+len(m.devices)], own); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for k, want := range map[int][]byte{
		1: slices.Concat(bytes.Repeat([]byte{2}, 100), bytes.Repeat([]byte{1}, 100), bytes.Repeat([]byte{3}, 99), []byte{2}),
		2: slices.Concat(bytes.Repeat([]byte{3}, 200), []byte{2}, bytes.Repeat([]byte{3}, 99)),
	} {
		got := make([]byte, 300)
		ok(t, errors.Join(list[k].Download(streams[k], got, at[k]), list[k].Synchronize(streams[k])))
		if !bytes.Equal(got, want) {
			t.Errorf("device %d has %v", k, got)
		}
	}
	for _, m := range all {
		ok(t, errors.Join(m.c.Err(), m.c.Close()))
	}
	text := strings.Join(lines()[begin:], "\n")
	for _, line := range []string{"nccl 0 to 1: 100 bytes", "nccl 2 to 1: 99 bytes", "nccl 1 to 2: 1 bytes", "destroy 0\ndestroy 1", "destroy 2"} {
		if strings.Count(text, line) != 1 {
			t.Errorf("%q is not once in the log: %s", line, text)
		}
	}
	for k, d := range list {
		ok(t, d.FreeStream(streams[k]))
	}
}

// Processes that cannot meet, whose libraries differ, or whose first transfers fail or change
// bytes, get an error that says so and that wraps driver.ErrNoCommunicator.
func TestGatherFailures(t *testing.T) {
	list := openDevices(t, 2)
	refused := func(what string, err error, want string) {
		t.Helper()
		if !errors.Is(err, driver.ErrNoCommunicator) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", what, err, want)
		}
	}
	leader := list[0].(driver.Gatherer)
	t.Setenv("PPAL_STUB_FAIL", "ncclGetUniqueId=2")
	_, err := leader.Meet(true)
	refused("no id", err, "ncclGetUniqueId(id): ncclSystemError")
	if other := must[[]byte](t)(list[1].(driver.Gatherer).Meet(false)); len(other) != 132 {
		t.Errorf("a meeting of %d bytes", len(other))
	}
	t.Setenv("PPAL_STUB_FAIL", "")
	for name, want := range map[string]string{"ncclCommInitRank": "ncclCommInitRank(c, 2, id, 1): ncclSystemError", "ncclGroupStart": "ncclGroupStart: ncclSystemError",
		"ncclSend": "ncclSend: ncclSystemError"} {
		t.Setenv("PPAL_STUB_FAIL", name+"=2")
		for k, m := range gather(t, time.Minute, 2, list[:1], list[1:]) {
			if k == 1 {
				refused(name, m.err, want)
			}
		}
	}
	t.Setenv("PPAL_STUB_FAIL", "")
	t.Setenv("PPAL_STUB_WRONG_NCCL", "1")
	refused("wrong bytes", gather(t, time.Minute, 2, list[:1], list[1:])[1].err, "NCCL 2.21.5 changed the bytes that GPU 0 of all processes sent to cuda:1")
	t.Setenv("PPAL_STUB_WRONG_NCCL", "")
	meeting := must[[]byte](t)(leader.Meet(true))
	t.Setenv("PPAL_STUB_NCCL_VERSION", "22106")
	_, err = leader.Gather(meeting, list[:1], 0, 2)
	refused("another version", err, "this process has NCCL 2.21.6, and process 0 has another version")
	t.Setenv(nvidia.NCCLFile, nvidia.NoNCCL)
	_, err = leader.Meet(false)
	refused("turned off", err, "PPAL_NCCL is none")
}

// A process that does not come, and transfers that never end, end after a limit of time.
func TestGatherHangs(t *testing.T) {
	list := openDevices(t, 2)
	const patience = 50 * time.Millisecond
	lonely := gather(t, patience, 2, list[:1])[0]
	if want := "the GPUs of other processes did not meet within 50ms (PPAL_NCCL=none leaves NCCL out)"; !errors.Is(lonely.err, driver.ErrNoCommunicator) ||
		!strings.Contains(lonely.err.Error(), want) {
		t.Errorf("error %v, want %s", lonely.err, want)
	}
	lines := logTo(t)
	t.Setenv("PPAL_STUB_HANG_NCCL", "1")
	for _, m := range gather(t, time.Second, 2, list[:1], list[1:]) {
		if want := "the first transfers of NCCL 2.21.5 did not end within 1s"; !errors.Is(m.err, driver.ErrNoCommunicator) || !strings.Contains(m.err.Error(), want) {
			t.Errorf("error %v, want %s", m.err, want)
		}
	}
	if text := strings.Join(lines(), "\n"); !strings.Contains(text, "abort 0") || !strings.Contains(text, "abort 1") {
		t.Errorf("the log is %s", text)
	}
}

// If NCCL notices that another process failed, the wait for a transfer ends, and the communicator
// has an error.
func TestWatch(t *testing.T) {
	list := openDevices(t, 2)
	all := gather(t, time.Minute, 2, list[:1], list[1:])
	a := all[0]
	ok(t, errors.Join(a.err, all[1].err))
	stream := must[driver.Stream](t)(list[0].NewStream())
	at := buffer(t, list[0], make([]byte, 8))
	t.Setenv("PPAL_STUB_HANG_NCCL", "1")
	group := []driver.Transfer{{From: 1, To: 0, Target: at, Bytes: 8}}
	ok(t, a.c.Transfer([]driver.Stream{stream}, group))
	ok(t, a.c.Err())
	waited := make(chan error)
	go func() { waited <- list[0].Synchronize(stream) }()
	t.Setenv("PPAL_STUB_FAIL", "ncclCommGetAsyncError=6")
	select {
	case err := <-waited:
		ok(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the wait did not end")
	}
	var failed *driver.Error
	if err := a.c.Err(); !errors.As(err, &failed) || failed.Name != "ncclRemoteError" {
		t.Errorf("error %v", err)
	}
	if err := a.c.Transfer([]driver.Stream{stream}, group); err != a.c.Err() {
		t.Errorf("a later transfer: %v", err)
	}
	t.Setenv("PPAL_STUB_FAIL", "")
	_ = all[1].c.Close() // may have seen the failure, too
	ok(t, errors.Join(a.c.Close(), list[0].FreeStream(stream)))

	t.Setenv("PPAL_STUB_HANG_NCCL", "")
	again := gather(t, time.Minute, 2, list[:1], list[1:])
	ok(t, errors.Join(again[0].err, again[1].err))
	t.Setenv("PPAL_STUB_HANG_NCCL", "1")
	b := again[1].c // a limit ends the wait too
	stream = must[driver.Stream](t)(list[1].NewStream())
	there := buffer(t, list[1], make([]byte, 8))
	ok(t, b.Transfer([]driver.Stream{stream}, []driver.Transfer{{From: 0, To: 1, Target: there, Bytes: 8}}))
	end := b.Limit(50 * time.Millisecond)
	ok(t, list[1].Synchronize(stream))
	end()
	t.Setenv("PPAL_STUB_HANG_NCCL", "")
	ok(t, errors.Join(b.Close(), again[0].c.Close(), list[1].FreeStream(stream)))
}
