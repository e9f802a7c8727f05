package session

import (
	"strings"
	"testing"
)

// A bound that cannot be kept gives one line with the least bound; other bounds give none.
func TestLeastMemory(t *testing.T) {
	for _, test := range []struct {
		memory     int64
		parameters int
		want       string
	}{
		{0, 10, ""},
		{64 << 20, 0, "the least bound that ppal keeps in a run with this many parameters is about 160 MiB"},
		{leastResident, 0, ""},
		{leastResident, 1, "about 161 MiB"},
		{leastResident + 1000*bytesPerParameter, 1000, ""},
		{leastResident, 1 << 20, "about 280 MiB"},
	} {
		got := Device{Memory: test.memory}.tooLittle(test.parameters)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%d bytes, %d parameters: %q, want %q", test.memory, test.parameters, got, test.want)
		}
	}
}
