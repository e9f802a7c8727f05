package datasets

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// FuzzUnzip extracts a file from any bytes in the place of a zip archive: the file has at most one
// byte more than its published size, and no other file appears.
func FuzzUnzip(f *testing.F) {
	zipped := func(names ...string) []byte {
		var buf bytes.Buffer
		w := zip.NewWriter(&buf)
		for _, name := range names {
			member := require.Value(w.Create(name))(f)
			if strings.HasSuffix(name, "/") {
				continue
			}
			require.Value(member.Write(bytes.Repeat([]byte("text"), 100)))(f)
		}
		require.NoError(f, w.Close())
		return buf.Bytes()
	}
	f.Add(zipped("folder/file.csv"))
	f.Add(zipped("../folder/file.csv", "folder/file.csv", "/folder/file.csv"))
	f.Add(zipped("folder/file.csv/", "folder/"))
	f.Add(zipped("folder/file.csv")[:100])
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const size = 50
		dir := t.TempDir()
		archive, path := filepath.Join(dir, "a.zip"), filepath.Join(dir, "inside", "file")
		require.NoError(t, errors.Join(os.WriteFile(archive, data, 0o600), os.Mkdir(filepath.Dir(path), 0o700)))
		err := unzip(archive, path, File{Path: "file", Zipped: "folder/file.csv", Size: size})
		if err != nil && !errors.Is(err, dataerr.ErrFormat) {
			t.Fatalf("unexpected kind of error: %v", err)
		}
		if info, statErr := os.Stat(path); err == nil && (statErr != nil || info.Size() > size+1) {
			t.Fatalf("the file: %v, %v", info, statErr)
		}
		for folder, most := range map[string]int{dir: 2, filepath.Dir(path): 1} {
			if entries, err := os.ReadDir(folder); err != nil || len(entries) > most {
				t.Fatalf("%v, %v: want %d at most", entries, err, most)
			}
		}
	})
}

// FuzzPublished reads any bytes as each of the published tables.
func FuzzPublished(f *testing.F) {
	f.Add([]byte("+1 5:1 7:1\n-1 1:1\n"))
	f.Add([]byte("\"age\";\"job\";\"marital\";\"education\";\"default\"\n30;\"unemployed\";\"married\";\"primary\";\"no\"\n"))
	f.Add([]byte("id,name,sex,age,race,priors_count,two_year_recid\n1,x,Male,30,Other,0,1\n"))
	f.Add([]byte("8,?,?,Lakewoodcity,1,0.19,0.33\n"))
	f.Add([]byte("\xff\xfe\n\n"))
	readers := map[string]func(path string) error{
		"adult":       func(path string) error { _, _, err := readAdult(path); return err },
		"bank":        func(path string) error { _, err := readBank(path, []string{"marital"}); return err },
		"compas":      func(path string) error { _, err := readCompas(path, []string{"race"}); return err },
		"communities": func(path string) error { _, err := readCommunities(path, nil); return err },
	}
	kinds := slices.Concat(expected, tableErrors, []error{dataerr.ErrIndex, dataerr.ErrCategory})
	f.Fuzz(func(t *testing.T, data []byte) {
		path := datatest.Write(t, t.TempDir(), "file", data)
		for name, read := range readers {
			if err := read(path); err != nil && !slices.ContainsFunc(kinds, func(e error) bool { return errors.Is(err, e) }) {
				t.Errorf("%s: unexpected kind of error: %v", name, err)
			}
		}
	})
}

// FuzzSplit parses splits: what ParseSplit accepts adds up to 100 and is the text of the split.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"70/15/15", "100/0/0", "0/50/50", "-1/1/100", "70/15", "70/15/15/0", " 70/15/15", "+70/15/15", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := tabular.ParseSplit(text)
		if err != nil {
			if !errors.Is(err, dataerr.ErrSplit) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		if again, err := tabular.ParseSplit(s.String()); err != nil || again != s {
			t.Fatalf("%q: %v, again %v, %v", text, s, again, err)
		}
		if min(s.Train-1, s.Validation, s.Test) < 0 || s.Train+s.Validation+s.Test != 100 {
			t.Fatalf("%q: %v", text, s)
		}
	})
}
