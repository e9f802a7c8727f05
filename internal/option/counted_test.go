package option

import "testing"

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		if got := Counted(n, "row"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
