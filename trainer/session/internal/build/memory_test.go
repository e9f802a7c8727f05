package build

import (
	"strings"
	"testing"
)

// A bound that the run may exceed gives a warning of one line with the smallest bound. Other bounds
// give no warning.
func TestLeastMemory(t *testing.T) {
	for _, test := range []struct {
		memory           int64
		rows, parameters int
		want             string
	}{
		{0, 10, 10, ""},
		{64 << 20, 0, 0, "set --memory to about 160 MiB or more"},
		{leastResident, 0, 0, ""},
		{leastResident, 0, 1, "about 161 MiB"},
		{leastResident + 1000*bytesPerParameter, 0, 1000, ""},
		{leastResident + 1000*bytesPerParameter + 50*bytesPerRow, 50, 1000, ""},
		{leastResident + 1000*bytesPerParameter + 50*bytesPerRow - 1, 50, 1000, "about 161 MiB"},
		{leastResident, 0, 1 << 20, "about 280 MiB"},
		{leastResident, 1 << 20, 0, "about 310 MiB"},
	} {
		got := Options{Memory: test.memory}.TooLittle(test.rows, test.parameters)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%d bytes, %d rows, %d parameters: %q, want %q", test.memory, test.rows, test.parameters, got, test.want)
		}
	}
}
