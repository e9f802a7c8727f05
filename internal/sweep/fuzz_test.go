package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzPoints checks that the readers of a sweep's directory return an error or points with a swept
// constraint, for any bytes.
func FuzzPoints(f *testing.F) {
	f.Add([]byte(`{"bound":0.1,"decisions":[{"constraint":"gap(tpr, sex) <= 0.1","bound":0.1}],"multipliers":[1],"slope":-1}` + "\n"))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"bound":0.1,"decisions":[`))
	f.Add([]byte{0x3f, 0xff, 0x81})
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		points, err := ReadPoints(path)
		if err != nil && !strings.HasPrefix(err.Error(), "sweep: ") {
			t.Error(err)
		}
		for i := range points {
			_ = points[i].Swept()
		}
		if _, err := readState(path); err != nil && !strings.HasPrefix(err.Error(), "sweep: ") {
			t.Error(err)
		}
	})
}
