package parquet

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"ppal/internal/require"
	"ppal/internal/textvalue"
)

// arrowSchemas has schemas as pyarrow writes them, by the time zone of the column "at":
// pyarrow.schema([("n", pyarrow.int64()), ("at", pyarrow.timestamp("us", tz=ZONE))]).serialize().
var arrowSchemas = map[string]string{
	"America/New_York": "/////8gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABkAAAABAAAALT///8AAAEKEAAAABwAAAAEAAAAAAAAAAIA" +
		"AABhdAAACAAMAAYACAAIAAAAAAACAAQAAAAQAAAAQW1lcmljYS9OZXdfWW9yawAAAAAQABQACAAGAAcADAAAABAAEAAAAAAAAQIQAAAAHAAAAAQAAAAAAAAA" +
		"AQAAAG4AAAAIAAwACAAHAAgAAAAAAAABQAAAAA==",
	"+05:30": "/////8AAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABYAAAABAAAAMD///8AAAEKEAAAABwAAAAEAAAAAAAAAAIA" +
		"AABhdAAACAAMAAYACAAIAAAAAAACAAQAAAAGAAAAKzA1OjMwAAAQABQACAAGAAcADAAAABAAEAAAAAAAAQIQAAAAHAAAAAQAAAAAAAAAAQAAAG4AAAAIAAwA" +
		"CAAHAAgAAAAAAAABQAAAAAAAAAA=",
	"UTC": "/////7gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABUAAAABAAAAMT///8AAAEKEAAAABwAAAAEAAAAAAAAAAIA" +
		"AABhdAAACAAMAAYACAAIAAAAAAACAAQAAAADAAAAVVRDABAAFAAIAAYABwAMAAAAEAAQAAAAAAABAhAAAAAcAAAABAAAAAAAAAABAAAAbgAAAAgADAAIAAcA" +
		"CAAAAAAAAAFAAAAA",
	"": "/////7AAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABIAAAABAAAAND///8AAAEKEAAAABwAAAAEAAAAAAAAAAIA" +
		"AABhdAAAAAAGAAgABgAGAAAAAAACABAAFAAIAAYABwAMAAAAEAAQAAAAAAABAhAAAAAcAAAABAAAAAAAAAABAAAAbgAAAAgADAAIAAcACAAAAAAAAAFAAAAA" +
		"AAAAAA==",
	"Nowhere/City": "/////8gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABgAAAABAAAALj///8AAAEKEAAAABwAAAAEAAAAAAAAAAIA" +
		"AABhdAAACAAMAAYACAAIAAAAAAACAAQAAAAMAAAATm93aGVyZS9DaXR5AAAAABAAFAAIAAYABwAMAAAAEAAQAAAAAAABAhAAAAAcAAAABAAAAAAAAAABAAAA" +
		"bgAAAAgADAAIAAcACAAAAAAAAAFAAAAAAAAAAA==",
}

// withZone returns a Parquet file with one column of times in UTC, whose schema of Arrow has a time
// zone.
func withZone(t *testing.T, schema string, times ...any) []byte {
	t.Helper()
	return written(t, 1, []typed{of("at", parquet.Timestamp(parquet.Microsecond), times...).want()}, parquet.KeyValueMetadata(arrowSchema, schema))
}

// A time with a zone has the local time and its offset, as pandas writes it, in summer and winter.
func TestZones(t *testing.T) {
	winter, summer := time.Date(2020, 1, 1, 5, 0, 0, 0, time.UTC).UnixMicro(), time.Date(2020, 7, 1, 5, 0, 0, 250_000_000, time.UTC).UnixMicro()
	for zone, want := range map[string]string{
		"America/New_York": "2020-01-01 00:00:00-05:00\n2020-07-01 01:00:00.250000-04:00",
		"+05:30":           "2020-01-01 10:30:00+05:30\n2020-07-01 10:30:00.250000+05:30",
		"UTC":              "2020-01-01 05:00:00+00:00\n2020-07-01 05:00:00.250000+00:00",
		"":                 "2020-01-01 05:00:00+00:00\n2020-07-01 05:00:00.250000+00:00",
	} {
		if _, got, err := read(withZone(t, arrowSchemas[zone], winter, summer)); err != nil || strings.Join(got[0], "\n") != want {
			t.Errorf("%q: %q, %v, want %q", zone, got, err, want)
		}
	}
	if _, _, err := read(withZone(t, arrowSchemas["Nowhere/City"], winter)); err == nil ||
		!strings.Contains(err.Error(), `column at: unknown time zone "Nowhere/City"; write the column in UTC`) {
		t.Error(err)
	}
}

// A damaged schema of Arrow gives no zones, or others, and never a panic.
func TestDamagedZones(t *testing.T) {
	message := require.Value(base64.StdEncoding.DecodeString(arrowSchemas["UTC"]))(t)
	for at := range message {
		for _, damaged := range [][]byte{message[:at], append(append(append([]byte{}, message[:at]...), message[at]^0x85), message[at+1:]...)} {
			_, _, _ = read(withZone(t, base64.StdEncoding.EncodeToString(damaged), int64(0)))
		}
	}
	if _, got, err := read(withZone(t, "not base64", int64(0))); err != nil || got[0][0] != "1970-01-01 00:00:00+00:00" {
		t.Error(got, err)
	}
}

// The text of every finite number of 16 bits gives the number back, and has at most five digits.
func TestHalf(t *testing.T) {
	for bits, shortest := range halfNumbers() {
		x := textvalue.Half(uint16(bits))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			if shortest == shortest && shortest != x {
				t.Fatalf("%v: %v", x, shortest)
			}
			continue
		}
		text := half(x)
		digits := strings.Trim(strings.NewReplacer("-", "", "+", "", ".", "").Replace(strings.SplitN(text, "e", 2)[0]), "0")
		if y, err := strconv.ParseFloat(text, 64); err != nil || nearest16(y) != x || y != shortest || len(digits) > 5 {
			t.Fatalf("%v: %q, %v, %v", x, text, shortest, err)
		}
	}
}
