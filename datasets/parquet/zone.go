package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"
	_ "time/tzdata" // for systems without a data base of time zones

	"github.com/parquet-go/parquet-go"
)

// arrowSchema is the key under which writers keep the schema of Arrow. Parquet's own types have no
// names of time zones.
const arrowSchema = "ARROW:schema"

// zonesOf returns the names of the columns' time zones. A column without a zone is absent, and so
// are all columns of a file without a readable schema of Arrow: its times are in UTC.
func zonesOf(file *parquet.File) (zones map[string]string) {
	text, ok := file.Lookup(arrowSchema)
	if !ok {
		return nil
	}
	message, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	defer func() {
		if recover() != nil { // an offset beyond the message
			zones = nil
		}
	}()
	return zonesIn(message)
}

// The places of the fields in the tables of Arrow's Message.fbs and Schema.fbs.
const (
	messageHeader  = 2
	schemaFields   = 1
	fieldName      = 0
	fieldTypeKind  = 2
	fieldType      = 3
	timestampZone  = 1
	timestampKind  = 10
	continuation   = 0xffffffff // begins a message, before its size
	offsetBytes    = 4
	vtableOverhead = 4 // bytes of a vtable before its first offset
)

// zonesIn returns the time zones in a message of Arrow with a schema. An offset that is not in the
// message panics.
func zonesIn(message []byte) map[string]string {
	zones := map[string]string{}
	if binary.LittleEndian.Uint32(message) == continuation {
		message = message[offsetBytes:]
	}
	message = message[offsetBytes:] // the size
	schema, _ := flatTable{message, 0}.follow(0).table(messageHeader)
	fields, _ := schema.table(schemaFields)
	for i := range int(fields.uint32(0)) {
		field := fields.follow(offsetBytes * (i + 1))
		if kind, ok := field.place(fieldTypeKind); !ok || field.bytes[kind] != timestampKind {
			continue
		}
		nested, _ := field.table(fieldType)
		if zone, ok := nested.table(timestampZone); ok {
			name, _ := field.table(fieldName)
			zones[name.text()] = zone.text()
		}
	}
	return zones
}

// flatTable is a table, a vector or a text of FlatBuffers, which begins at a place of a message.
type flatTable struct {
	bytes []byte
	at    int
}

// uint32 returns the number at a distance from the beginning.
func (t flatTable) uint32(distance int) uint32 {
	return binary.LittleEndian.Uint32(t.bytes[t.at+distance:])
}

// follow returns what the offset at a distance from the beginning points to.
func (t flatTable) follow(distance int) flatTable {
	return flatTable{t.bytes, t.at + distance + int(t.uint32(distance))}
}

// place returns the place of a field in the message; ok is false if the table has no such field.
func (t flatTable) place(field int) (at int, ok bool) {
	vtable := t.at - int(int32(t.uint32(0)))
	entry := vtableOverhead + 2*field
	if entry >= int(binary.LittleEndian.Uint16(t.bytes[vtable:])) {
		return 0, false
	}
	distance := int(binary.LittleEndian.Uint16(t.bytes[vtable+entry:]))
	return t.at + distance, distance != 0
}

// table returns the table, vector or text in a field.
func (t flatTable) table(field int) (nested flatTable, ok bool) {
	at, ok := t.place(field)
	if !ok {
		return t, false
	}
	return flatTable{t.bytes, at}.follow(0), true
}

// text returns the text, which its length precedes.
func (t flatTable) text() string {
	return string(t.bytes[t.at+offsetBytes:][:t.uint32(0)])
}

// location returns the time zone with a name, such as Europe/Berlin, or with an offset, such as
// +05:30. "" is UTC.
func location(zone string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", zone); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(zone, offset), nil
	}
	in, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q; write the column in UTC", zone)
	}
	return in, nil
}
