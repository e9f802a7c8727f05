package save

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// An event file, which TensorBoard reads, is a sequence of TFRecords. Each record holds an Event, a
// message in protobuf's wire format (tensorflow/core/util/event.proto). The first event names the
// version of the format. Other events hold scalars or a text at a step.

// eventPrefix begins the name of every event file.
const eventPrefix = "events.out.tfevents."

// eventVersion is the version of the format.
const eventVersion = "brain.Event:2"

// The numbers of the messages' fields.
const (
	eventWallTime    protowire.Number = 1 // Event
	eventStep        protowire.Number = 2
	eventFileVersion protowire.Number = 3
	eventSummary     protowire.Number = 5
	eventSessionLog  protowire.Number = 7

	logStatus protowire.Number = 1 // SessionLog

	summaryValue protowire.Number = 1 // Summary

	valueTag      protowire.Number = 1 // Summary.Value
	valueSimple   protowire.Number = 2
	valueTensor   protowire.Number = 8
	valueMetadata protowire.Number = 9

	metadataPlugin protowire.Number = 1 // SummaryMetadata
	metadataClass  protowire.Number = 4

	pluginName protowire.Number = 1 // SummaryMetadata.PluginData

	tensorType   protowire.Number = 1 // TensorProto
	tensorShape  protowire.Number = 2
	tensorString protowire.Number = 8
)

// The values of enumerations.
const (
	sessionStart = 1 // SessionLog.START
	classTensor  = 2 // DATA_CLASS_TENSOR
	typeString   = 7 // DT_STRING
)

// scalar is a number with its tag. TensorBoard puts tags with the same text before the first slash
// into one section.
type scalar struct {
	Tag   string
	Value float64
}

// EventWriter appends events to a file. Every event is in the file when the call returns.
type EventWriter struct {
	file *os.File
	size int64 // of complete events
}

// CreateEvents makes a new event file in the directory dir. With start > 0, the file continues a
// run: TensorBoard then drops the events of the earlier files in dir from the step start on.
// TensorBoard reads the files of a directory in the order of their names, which begin with the
// time in seconds. CreateEvents makes the name of the new file the last one, also if the clock has
// jumped back.
func CreateEvents(dir string, now time.Time, start int64) (*EventWriter, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	seconds, err := after(dir, now.Unix())
	if err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	name := fmt.Sprintf("%s%010d.%s.%d.0", eventPrefix, seconds, host, os.Getpid())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	w := &EventWriter{file: f}
	err = w.write(event(now, 0, eventFileVersion, []byte(eventVersion)))
	if err == nil && start > 0 {
		log := protowire.AppendVarint(protowire.AppendTag(nil, logStatus, protowire.VarintType), sessionStart)
		err = w.write(event(now, start, eventSessionLog, log))
	}
	if err != nil {
		return nil, fmt.Errorf("%w (and %v)", err, w.Remove())
	}
	return w, nil
}

// after returns the given time in seconds, or the smallest later time that is after the times of
// all event files in the directory.
func after(dir string, seconds int64) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), eventPrefix); ok {
			text, _, _ := strings.Cut(rest, ".")
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				seconds = max(seconds, n+1)
			}
		}
	}
	return seconds, nil
}

// scalars writes numbers at a step.
func (w *EventWriter) scalars(now time.Time, step int64, list []scalar) error {
	var summary []byte
	for _, s := range list {
		value := protowire.AppendString(protowire.AppendTag(nil, valueTag, protowire.BytesType), clean(s.Tag))
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		summary = message(summary, summaryValue, value)
	}
	return w.write(event(now, step, eventSummary, summary))
}

// Text writes a text in Markdown at a step.
func (w *EventWriter) Text(now time.Time, step int64, tag, text string) error {
	plugin := protowire.AppendString(protowire.AppendTag(nil, pluginName, protowire.BytesType), "text")
	metadata := message(nil, metadataPlugin, plugin)
	metadata = protowire.AppendVarint(protowire.AppendTag(metadata, metadataClass, protowire.VarintType), classTensor)
	tensor := protowire.AppendVarint(protowire.AppendTag(nil, tensorType, protowire.VarintType), typeString)
	tensor = message(tensor, tensorShape, nil) // no dimensions
	tensor = message(tensor, tensorString, []byte(text))
	value := protowire.AppendString(protowire.AppendTag(nil, valueTag, protowire.BytesType), clean(tag))
	value = message(message(value, valueTensor, tensor), valueMetadata, metadata)
	return w.write(event(now, step, eventSummary, message(nil, summaryValue, value)))
}

// Close closes the file.
func (w *EventWriter) Close() error {
	if err := w.file.Close(); err != nil {
		return fmt.Errorf("tensorboard: %w", err)
	}
	return nil
}

// Remove closes and deletes the file.
func (w *EventWriter) Remove() error {
	_ = w.file.Close()
	if err := os.Remove(w.file.Name()); err != nil {
		return fmt.Errorf("tensorboard: %w", err)
	}
	return nil
}

// write appends an event as a TFRecord: the length in 8 bytes, the checksum of the length, the
// event, and the checksum of the event, in little-endian order.
func (w *EventWriter) write(event []byte) error {
	record := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	record = binary.LittleEndian.AppendUint32(record, checksum(record))
	record = append(record, event...)
	record = binary.LittleEndian.AppendUint32(record, checksum(event))
	if _, err := w.file.Write(record); err != nil {
		_ = w.file.Truncate(w.size) // a write to a full disk may leave the beginning of a record
		return fmt.Errorf("tensorboard: %w", err)
	}
	w.size += int64(len(record))
	return nil
}

// event returns an Event with one field besides its time and step.
func event(now time.Time, step int64, field protowire.Number, content []byte) []byte {
	seconds := float64(now.UnixNano()) / float64(time.Second)
	b := protowire.AppendFixed64(protowire.AppendTag(nil, eventWallTime, protowire.Fixed64Type), math.Float64bits(seconds))
	b = protowire.AppendVarint(protowire.AppendTag(b, eventStep, protowire.VarintType), uint64(step))
	return message(b, field, content)
}

// message appends a field of bytes: a message, or a text.
func message(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

// clean returns the text as valid UTF-8, which protobuf requires, without control characters.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// castagnoli is the polynomial of the checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the masked CRC-32C of TFRecords.
func checksum(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
