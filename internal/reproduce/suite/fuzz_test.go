package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzJournal opens a journal with any bytes: an error in one line, or runs that are kept.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte("null\n{\"seed\":1}\n{\"half"))
	f.Add([]byte("[]\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, resultsFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := openJournal(dir)
		if err != nil && (err.Error() == "" || strings.ContainsAny(err.Error(), "\n\r")) {
			t.Errorf("%q", err)
		}
	})
}
