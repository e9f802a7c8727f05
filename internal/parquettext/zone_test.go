package parquettext

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// withZone returns a Parquet file with one column of times in UTC, whose schema of Arrow has a time
// zone.
func withZone(t *testing.T, zone string, times []int64) []byte {
	t.Helper()
	var message bytes.Buffer
	own := arrow.NewSchema([]arrow.Field{{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: zone}}}, nil)
	if err := ipc.NewWriter(&message, ipc.WithSchema(own)).Close(); err != nil {
		t.Fatal(err)
	}
	kv := metadata.NewKeyValueMetadata()
	if err := kv.Append(arrowSchema, base64.StdEncoding.EncodeToString(message.Bytes())); err != nil {
		t.Fatal(err)
	}
	c := column{"at", schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, 0, 0, times, nil}
	node := schema.MustPrimitive(schema.NewPrimitiveNodeLogical(c.name, c.repeated, c.logical, c.physical, 0, -1))
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{node}, -1)), file.WithWriteMetadata(kv))
	g, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeColumn(g, c); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A time with a zone has the local time and its offset, as pandas writes it, in summer and winter.
func TestZones(t *testing.T) {
	winter, summer := time.Date(2020, 1, 1, 5, 0, 0, 0, time.UTC).UnixMicro(), time.Date(2020, 7, 1, 5, 0, 0, 250_000_000, time.UTC).UnixMicro()
	for zone, want := range map[string]string{
		"America/New_York": "2020-01-01 00:00:00-05:00\n2020-07-01 01:00:00.250000-04:00\n",
		"+05:30":           "2020-01-01 10:30:00+05:30\n2020-07-01 10:30:00.250000+05:30\n",
		"UTC":              "2020-01-01 05:00:00+00:00\n2020-07-01 05:00:00.250000+00:00\n",
		"":                 "2020-01-01 05:00:00+00:00\n2020-07-01 05:00:00.250000+00:00\n",
	} {
		if got, err := read(withZone(t, zone, []int64{winter, summer})); err != nil || got != "at\n"+want {
			t.Errorf("%q: %q, %v, want %q", zone, got, err, want)
		}
	}
	if _, err := read(withZone(t, "Nowhere/City", []int64{winter})); err == nil || !strings.Contains(err.Error(), `column at: unknown time zone "Nowhere/City"; write the column in UTC`) {
		t.Error(err)
	}
}

// The text of every number of 16 bits gives the number back, and has at most five digits.
func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		x := float16([]byte{byte(bits), byte(bits >> 8)})
		text := half(x)
		digits := strings.Trim(strings.NewReplacer("-", "", "+", "", ".", "").Replace(strings.SplitN(text, "e", 2)[0]), "0")
		switch {
		case math.IsNaN(x) && text != "", math.IsInf(x, 0) && !strings.HasSuffix(text, "Inf"):
			t.Fatalf("%v: %q", x, text)
		case math.IsNaN(x) || math.IsInf(x, 0):
		case nearest16(parsed(t, text)) != x || len(digits) > 5:
			t.Fatalf("%v: %q", x, text)
		}
	}
}

// parsed returns the number of a text.
func parsed(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
