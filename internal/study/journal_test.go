package study

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/disk"
	"ppal/internal/require"
)

// The journal keeps every record and finds a record by its key. A record replaces an earlier one
// with the same key. Opening drops a line that an interrupted study left incomplete, and reading
// ignores the line.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "results.jsonl")
	j := open(t, dir)
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty journal has a file")
	}
	for _, e := range []entry{{"a", 1}, {"<b>", 2}, {"a", 3}} {
		require.NoError(t, j.Add(e.Name, e))
	}
	j.Plain = true
	require.NoError(t, j.Add("<c>", entry{"<c>", 4}))
	want := `{"name":"a","value":1}
{"name":"\u003cb\u003e","value":2}
{"name":"a","value":3}
{"name":"<c>","value":4}
`
	whole, err := os.ReadFile(path)
	if err != nil || string(whole) != want {
		t.Fatalf("%s, %v", whole, err)
	}
	require.NoError(t, os.WriteFile(path, append(whole, `{"name":"d","va`...), 0o644))
	records := []entry{{"a", 3}, {"<b>", 2}, {"<c>", 4}}
	var read []entry
	if err := ReadJournal(path, func(e entry) error { read = append(read, e); return nil }); err != nil || len(read) != 4 {
		t.Errorf("%v, %v", read, err)
	}
	j = open(t, dir)
	if diff := cmp.Diff(records, j.Records()); diff != "" {
		t.Error(diff)
	}
	if e, ok := j.Find("<b>"); !ok || e.Value != 2 {
		t.Errorf("%v %v", e, ok)
	}
	if _, ok := j.Find("d"); ok {
		t.Error("half a record is found")
	}
	require.NoError(t, j.Add("d", entry{"d", 5}))
	if whole, err := os.ReadFile(path); err != nil || string(whole) != want+`{"name":"d","value":5}`+"\n" {
		t.Errorf("%s, %v", whole, err)
	}
}

// Whichever operation of an addition fails, a later study finds the records before, and can add
// others. After one fault, the same study can.
func TestJournalFaults(t *testing.T) {
	for _, name := range []string{"", "a"} {
		for f := range disk.EveryFault() {
			dir := t.TempDir()
			j, want := open(t, dir), []entry{}
			if name != "" {
				want = append(want, entry{name, 1})
				require.NoError(t, j.Add(name, want[0]))
			}
			if err := f.Run(func() error { return j.Add("b", entry{"b", 2}) }); err == nil {
				want = append(want, entry{"b", 2})
			} else if !f.Failed() {
				t.Error(f, err)
			}
			if !f.Once {
				j = open(t, dir)
			}
			for i := range 2 {
				e := entry{fmt.Sprint("c", i), 3}
				if want = append(want, e); j.Add(e.Name, e) != nil {
					t.Fatal(f)
				}
			}
			got := open(t, dir).Records()
			if !f.Once { // a failed addition may be there
				got = slices.DeleteFunc(got, func(e entry) bool { return e.Name == "b" && !slices.Contains(want, e) })
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v: %s", f, diff)
			}
		}
	}
}

// A line that is no record is an error that names the line.
func TestBrokenJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	for text, want := range map[string]string{"{\"name\":\"a\"}\nno JSON\n": ":2: invalid character", "{}\n": ":1: no name", "\n": ":1: "} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		if _, err := OpenJournal(path, key); err == nil || !strings.Contains(err.Error(), path+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzJournal opens a journal with any bytes: an error in one line, or records that are kept.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte("null\n{\"name\":\"a\"}\n{\"half"))
	f.Add([]byte("[]\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "results.jsonl")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		j, err := OpenJournal(path, key)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q", err)
			}
			return
		}
		require.NoError(t, j.Add("last", entry{"last", 1}))
		again := require.Value(OpenJournal(path, key))(t)
		if diff := cmp.Diff(j.Records(), again.Records()); diff != "" {
			t.Error(diff)
		}
	})
}

// Errors of the file system are reported, and the record is not kept.
func TestJournalErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenJournal(dir, key); err == nil {
		t.Error("a directory is a journal")
	}
	j := open(t, filepath.Join(dir, "none"))
	if err := j.Add("a", entry{"a", 1}); err == nil || len(j.Records()) != 0 {
		t.Errorf("%v, %v in no directory", err, j.Records())
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	j.path, j.size = "/dev/full", 1
	if err := j.Add("a", entry{"a", 1}); err == nil || len(j.Records()) != 0 {
		t.Errorf("%v, %v on a full disk", err, j.Records())
	}
}
