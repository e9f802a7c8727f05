package datatest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
)

// The bytes of an event with the time 1.5, the step 300, the scalar a = 0.5 and the text b = "x",
// written by hand from the numbers of the fields in tensorflow/core/util/event.proto,
// summary.proto and tensor.proto.
var (
	scalar = []byte{1<<3 | 2, 1, 'a', 2<<3 | 5, 0, 0, 0, 0x3f}
	tensor = []byte{1 << 3, 7, 8<<3 | 2, 1, 'x'} // DT_STRING and a string
	text   = append([]byte{1<<3 | 2, 1, 'b', 8<<3 | 2, byte(len(tensor))}, tensor...)
	event  = eventField(5, eventField(1, scalar), eventField(1, text))
	whole  = append([]byte{1<<3 | 1, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 2 << 3, 0xac, 2}, event...)
)

// eventField returns a field of bytes.
func eventField(number byte, parts ...[]byte) []byte {
	var content []byte
	for _, p := range parts {
		content = append(content, p...)
	}
	return append([]byte{number<<3 | 2, byte(len(content))}, content...)
}

// frame returns a record of an event file: a length, its masked CRC-32C, the event, and its masked
// CRC-32C.
func frame(data []byte) []byte {
	sum := func(b []byte) uint32 {
		c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	out := binary.LittleEndian.AppendUint32(length, sum(length))
	return binary.LittleEndian.AppendUint32(append(out, data...), sum(data))
}

// failing notes the failure of a test instead of failing.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) }

func (f *failing) Fatal(args ...any) {
	f.text += fmt.Sprint(args...)
	runtime.Goexit()
}

// read reads a file with the given bytes, and returns the events and the failure.
func read(t *testing.T, data []byte) (list []Event, failure string) {
	path := filepath.Join(t.TempDir(), "events")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		list = ReadEvents(f, path)
	}()
	<-done
	return list, f.text
}

func TestRead(t *testing.T) {
	// a checksum that does not come from the code of this test: CRC-32C of 32 zeros (RFC 3720, B.4)
	if got := crc32.Checksum(make([]byte, 32), crc32.MakeTable(crc32.Castagnoli)); got != 0x8a9136aa {
		t.Fatalf("CRC-32C %x", got)
	}
	start := []byte{3<<3 | 2, 2, 'v', '2', 7<<3 | 2, 2, 1 << 3, 1}
	stop := []byte{7<<3 | 2, 2, 1 << 3, 2} // SessionLog.STOP
	got, failure := read(t, slices.Concat(frame(start), frame(stop), frame(whole)))
	want := []Event{
		{Version: "v2", Start: true, Scalars: map[string]float32{}, Texts: map[string]string{}},
		{Scalars: map[string]float32{}, Texts: map[string]string{}},
		{Time: 1.5, Step: 300, Scalars: map[string]float32{"a": 0.5}, Texts: map[string]string{"b": "x"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || failure != "" {
		t.Errorf("%s\n-want +got:\n%s", failure, diff)
	}
}

// A changed byte anywhere in a record is found, and so are contents that no writer should write.
func TestReadRefuses(t *testing.T) {
	good := frame(whole)
	for at := range good {
		if at < 8 {
			continue // a length with a wrong checksum follows below
		}
		bad := append([]byte(nil), good...)
		bad[at] ^= 1
		if _, failure := read(t, bad); failure != "a wrong checksum" {
			t.Errorf("byte %d changed: %q", at, failure)
		}
	}
	length := frame(whole)
	length[8] ^= 1 // of the checksum of the length
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"length":    {length, "a wrong checksum"},
		"cut field": {frame(whole[:len(whole)-1]), "not a message"},
		"twice":     {frame(eventField(5, eventField(1, scalar), eventField(1, scalar))), "the tag a occurs twice in an event"},
		"type":      {frame(eventField(5, eventField(1, eventField(8, []byte{1 << 3, 1})))), "a tensor of type 1"},
	} {
		if _, failure := read(t, c.data); failure != c.want {
			t.Errorf("%s: %q, want %q", name, failure, c.want)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for _, name := range []string{"events.out.tfevents." + "1", "events.out.tfevents." + "2", "other"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		if name != "other" {
			want = append(want, path)
		}
	}
	if diff := cmp.Diff(want, EventFiles(t, dir)); diff != "" {
		t.Error(diff)
	}
}
