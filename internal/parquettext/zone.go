package parquettext

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"time"
	_ "time/tzdata" // for systems without a data base of time zones

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// arrowSchema is the key under which writers keep the schema of Arrow. Parquet's own types have no
// names of time zones.
const arrowSchema = "ARROW:schema"

// zonesOf returns the names of the columns' time zones. A column without a zone is absent, and so
// are all columns of a file without a readable schema of Arrow: its times are in UTC.
func zonesOf(of *file.Reader) map[string]string {
	text := of.MetaData().KeyValueMetadata().FindValue(arrowSchema)
	if text == nil {
		return nil
	}
	message, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return nil
	}
	r, err := ipc.NewReader(bytes.NewReader(message))
	if err != nil {
		return nil
	}
	defer r.Release()
	zones := map[string]string{}
	for _, field := range r.Schema().Fields() {
		if t, ok := field.Type.(*arrow.TimestampType); ok && t.TimeZone != "" {
			zones[field.Name] = t.TimeZone
		}
	}
	return zones
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
