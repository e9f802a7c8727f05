package datasets

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The zero value has the documented defaults, and set fields stay.
func TestFetchDefaults(t *testing.T) {
	o := FetchOptions{}.withDefaults()
	if o.Attempts != 5 || o.Backoff != time.Second || o.Stall != 30*time.Second {
		t.Errorf("%d attempts, pause %v, stall %v", o.Attempts, o.Backoff, o.Stall)
	}
	o.Progress(File{}, 0)
	o.Log.Error("nobody reads this")
	var told, progressed, redirected bool
	own := FetchOptions{
		Client:   &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { redirected = true; return nil }},
		Attempts: 2, Backoff: 3, Stall: 4,
		Progress: func(File, int64) { progressed = true },
		Log:      slog.New(slog.NewTextHandler(onWrite(func(string) { told = true }), nil)),
	}.withDefaults()
	own.Progress(File{}, 0)
	own.Log.Error("somebody reads this")
	_ = own.Client.CheckRedirect(nil, nil)
	if own.Attempts != 2 || own.Backoff != 3 || own.Stall != 4 || !told || !progressed || !redirected {
		t.Errorf("%+v: told %t, progress %t, redirect %t", own, told, progressed, redirected)
	}
}

// A complete file needs no lock, and its progress is its size. Another process may hold the lock.
func TestFetchPresentWhileLocked(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "set/file.bin", fetchBody)
	lock, err := lockFolder(context.Background(), filepath.Join(dir, "set"), quick().Log)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ctx, cancel := context.WithCancel(context.Background())
	opts := quick()
	opts.Log = slog.New(slog.NewTextHandler(onWrite(func(string) { cancel() }), nil))
	var seen []int64
	opts.Progress = func(_ File, done int64) { seen = append(seen, done) }
	if err := fetchFiles(ctx, dir, []File{published("http://127.0.0.1:1")}, opts); err != nil || !slices.Equal(seen, []int64{int64(len(fetchBody))}) {
		t.Errorf("%v, progress %v", err, seen)
	}
	_, err = lockFolder(ctx, filepath.Join(dir, "none"), opts.Log)
	if err == nil || !strings.HasPrefix(err.Error(), "datasets: ") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// http and https are schemes of mirrors.
func TestFetchMirrorSchemes(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:1", "https://127.0.0.1:1"} {
		err := Fetch(context.Background(), t.TempDir(), "adult", FetchOptions{Mirrors: []string{base}, Attempts: 1})
		checkError(t, err, ErrDownload, "connection refused")
		if strings.Contains(err.Error(), "before") {
			t.Errorf("one source is not the second: %v", err)
		}
	}
}

// A failed transfer pauses, each time twice as long, up to 30 times the first pause. A transfer
// that delivers at least 1 KiB of new bytes begins the count and the pauses again.
func TestFetchPauses(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes, attempts int
		busy            bool
		want            []string // pauses
	}{
		"no bytes":      {0, 8, false, []string{"1ms", "2ms", "4ms", "8ms", "16ms", "30ms", "30ms"}},
		"few bytes":     {leastProgress - 1, 3, false, []string{"1ms", "2ms"}},
		"enough bytes":  {leastProgress, 1, false, []string{"1ms", "1ms", "1ms"}},
		"a busy server": {0, 1, true, []string{"1ms", "2ms", "4ms"}},
	} {
		requests := 0
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			switch requests++; {
			case tc.busy:
				w.WriteHeader(http.StatusServiceUnavailable)
			case tc.bytes == leastProgress && requests == 4:
				breaking(len(fetchBody))(w, r)
			default:
				breaking(tc.bytes)(w, r)
			}
		})
		opts := quick()
		opts.Attempts = tc.attempts
		var pauses []string
		opts.Log = slog.New(slog.NewTextHandler(onWrite(func(text string) {
			if _, rest, found := strings.Cut(text, "pause="); found {
				pauses = append(pauses, strings.Fields(rest)[0])
			}
		}), nil))
		err := fetchFiles(context.Background(), t.TempDir(), []File{published(s.URL)}, opts)
		if (err == nil) != (tc.bytes == leastProgress) || !slices.Equal(pauses, tc.want) {
			t.Errorf("%s: pauses %v, want %v; %v", name, pauses, tc.want, err)
		}
	}
}

// A file that cannot be put in place is an error, and the next call finds the complete download.
func TestFetchCannotRename(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "set", "file.bin")
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if err := os.MkdirAll(filepath.Join(path, "taken"), 0o755); err != nil {
			t.Error(err)
		}
		good(w, r)
	})
	err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, quick())
	if err == nil || !strings.HasPrefix(err.Error(), "datasets: ") {
		t.Fatalf("a folder in place of the file: %v", err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, quick()); err != nil || len(s.ranges) != 1 {
		t.Errorf("%v after requests %q", err, s.ranges)
	}
	checkFetched(t, dir)
}
