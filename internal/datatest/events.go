package datatest

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Event is an event of a file that TensorBoard reads.
type Event struct {
	Time    float64
	Step    int64
	Version string             // of the format
	Start   bool               // SessionLog.START
	Scalars map[string]float32 // by tag
	Texts   map[string]string  // by tag
}

// ReadEvents reads an event file and checks its checksums.
func ReadEvents(t testing.TB, path string) (list []Event) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(b []byte) uint32 {
		c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	for len(data) > 0 {
		n := binary.LittleEndian.Uint64(data)
		if sum(data[:8]) != binary.LittleEndian.Uint32(data[8:]) || sum(data[12:12+n]) != binary.LittleEndian.Uint32(data[12+n:]) {
			t.Fatal("a wrong checksum")
		}
		list, data = append(list, parseEvent(t, data[12:12+n])), data[16+n:]
	}
	return list
}

// eachField calls do for each field of a message.
func eachField(t testing.TB, b []byte, do func(field protowire.Number, number uint64, content []byte)) {
	t.Helper()
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(field, kind, b[max(n, 0):])
		if n < 0 || size < 0 {
			t.Fatal("not a message")
		}
		value := b[n : n+size]
		switch kind {
		case protowire.VarintType:
			x, _ := protowire.ConsumeVarint(value)
			do(field, x, nil)
		case protowire.Fixed32Type:
			x, _ := protowire.ConsumeFixed32(value)
			do(field, uint64(x), nil)
		case protowire.Fixed64Type:
			x, _ := protowire.ConsumeFixed64(value)
			do(field, x, nil)
		case protowire.BytesType:
			content, _ := protowire.ConsumeBytes(value)
			do(field, 0, content)
		}
		b = b[n+size:]
	}
}

// parseEvent reads an Event by the numbers of its fields.
func parseEvent(t testing.TB, b []byte) Event {
	e := Event{Scalars: map[string]float32{}, Texts: map[string]string{}}
	eachField(t, b, func(field protowire.Number, number uint64, content []byte) {
		switch field {
		case 1:
			e.Time = math.Float64frombits(number)
		case 2:
			e.Step = int64(number)
		case 3:
			e.Version = string(content)
		case 7:
			eachField(t, content, func(field protowire.Number, number uint64, _ []byte) { e.Start = field == 1 && number == 1 })
		case 5:
			eachField(t, content, func(_ protowire.Number, _ uint64, value []byte) {
				var tag, text string
				var scalar *float32
				eachField(t, value, func(field protowire.Number, number uint64, content []byte) {
					switch field {
					case 1:
						tag = string(content)
					case 2:
						x := math.Float32frombits(uint32(number))
						scalar = &x
					case 8:
						eachField(t, content, func(field protowire.Number, number uint64, content []byte) {
							if field == 8 {
								text = string(content)
							} else if field == 1 && number != 7 {
								t.Errorf("a tensor of type %d", number)
							}
						})
					}
				})
				if _, twice := e.Scalars[tag]; twice {
					t.Errorf("the tag %s occurs twice in an event", tag)
				}
				if scalar != nil {
					e.Scalars[tag] = *scalar
				} else {
					e.Texts[tag] = text
				}
			})
		}
	})
	return e
}

// EventFiles returns the event files of a directory in the order in which TensorBoard reads them.
func EventFiles(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
