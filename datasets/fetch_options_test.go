package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// The zero value has the documented defaults, and set fields stay.
func TestFetchDefaults(t *testing.T) {
	o := FetchOptions{}.withDefaults()
	if o.Attempts != 5 || o.Backoff != time.Second || o.Stall != 30*time.Second {
		t.Errorf("%d attempts, pause %v, stall %v", o.Attempts, o.Backoff, o.Stall)
	}
	if o.Client.CheckRedirect == nil {
		t.Error("a download follows redirects to other schemes")
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
	datatest.Write(t, dir, "set/file.bin", fetchBody)
	lock, err := lockFolder(context.Background(), filepath.Join(dir, "set"), quick().Log)
	require.NoError(t, err)
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

// http and https are schemes of mirrors and of redirects.
func TestFetchMirrorSchemes(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:1", "https://127.0.0.1:1"} {
		err := Fetch(context.Background(), t.TempDir(), "adult", FetchOptions{Mirrors: []string{base}, Attempts: 1})
		datatest.CheckError(t, err, dataerr.ErrDownload, "connection refused")
		if strings.Contains(err.Error(), "before") {
			t.Errorf("one source is not the second: %v", err)
		}
		next := require.Value(http.NewRequest(http.MethodGet, base, nil))(t)
		if err := redirecting(http.DefaultClient).CheckRedirect(next, nil); err != nil {
			t.Error(err)
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
	require.NoError(t, os.RemoveAll(path))
	if err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, quick()); err != nil || len(s.ranges) != 1 {
		t.Errorf("%v after requests %q", err, s.ranges)
	}
	checkFetched(t, dir)
	// the same for a file from an archive
	zipped := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if err := os.MkdirAll(filepath.Join(dir, "other", "set", "file.bin", "taken"), 0o755); err != nil {
			t.Error(err)
		}
		w.Write(zipArchive(t, "folder/file.bin", fetchBody))
	})
	err = fetchFiles(context.Background(), filepath.Join(dir, "other"), []File{publishedZipped(zipped.URL)}, quick())
	if err == nil || !strings.HasPrefix(err.Error(), "datasets: ") {
		t.Errorf("a folder in place of the file from an archive: %v", err)
	}
}

// accept says what a status means for the transfer, and reports that the partial file cannot be
// emptied.
func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		status  int
		busy    bool   // the server may have the file later
		final   bool   // another attempt is useless
		text    string // "": no error
		empties bool   // the partial file
	}{
		{status: http.StatusOK, empties: true},
		{status: http.StatusPartialContent, text: `server sends "" instead of "bytes 3-9/10"`, empties: true},
		{status: http.StatusRequestedRangeNotSatisfiable, text: "server answers 416", empties: true},
		{status: http.StatusInternalServerError, busy: true, text: "server answers 500"},
		{status: http.StatusTooManyRequests, busy: true, text: "server answers 429"},
		{status: http.StatusRequestTimeout, busy: true, text: "server answers 408"},
		{status: 499, final: true, text: "server answers 499"},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "part"))
		require.NoError(t, err)
		transfer := &transfer{f: f, have: 3, size: 10, file: File{Size: 10}}
		answer := &http.Response{StatusCode: tc.status, ContentLength: -1}
		err = transfer.accept(answer)
		var later busy
		var final refusal
		if errors.As(err, &later) != tc.busy || errors.As(err, &final) != tc.final || (err == nil) != (tc.text == "") ||
			err != nil && !strings.Contains(err.Error(), tc.text) || (transfer.have == 0) != tc.empties {
			t.Errorf("%d: %v, %d bytes are kept", tc.status, err, transfer.have)
		}
		require.NoError(t, f.Close())
		if err := transfer.accept(answer); errors.Is(err, os.ErrClosed) != tc.empties {
			t.Errorf("%d and a closed file: %v", tc.status, err)
		}
	}
}

// A host that does not exist, and a refused redirect, end the attempts. Other errors of a request
// do not.
func TestUselessAttempts(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		final bool
	}{
		"no host":       {&net.DNSError{IsNotFound: true}, true},
		"no answer":     {&net.DNSError{IsTimeout: true}, false},
		"redirect":      {errRedirect, true},
		"no connection": {&net.OpError{Err: os.ErrDeadlineExceeded}, false},
	} {
		err := refused(&url.Error{Op: "Get", URL: "http://user:secret@example.org", Err: tc.err})
		var final refusal
		if errors.As(err, &final) != tc.final || !errors.Is(err, tc.err) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := refused(os.ErrClosed); err != os.ErrClosed {
		t.Errorf("an error without a URL: %v", err)
	}
}

// slow sends the bytes of an answer in pieces, with a pause before each piece.
type slow struct {
	ctx    context.Context
	body   []byte
	pieces []int
	pause  time.Duration
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.ctx = r.Context()
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(s.body)), Body: io.NopCloser(s), Request: r}, nil
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(s.pause):
	}
	n := copy(p[:s.pieces[0]], s.body)
	s.body, s.pieces = s.body[n:], s.pieces[1:]
	return n, nil
}

// A transfer fails if it delivers less than the least rate over the time Stall. A transfer with the
// least rate may take as long as it needs.
func TestFetchStalls(t *testing.T) {
	const stall = 100 * time.Millisecond
	least := 102 // 1024 bytes per second, over the time of the stall
	for name, tc := range map[string]struct {
		pieces  []int
		stalled bool
	}{
		"the least rate":            {slices.Repeat([]int{least}, 20), false},
		"less than the least rate":  {slices.Repeat([]int{least - 1}, 20), true},
		"slow after some fast ones": {append([]int{least, least}, slices.Repeat([]int{1}, 20)...), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			total := 0
			for _, n := range tc.pieces {
				total += n
			}
			body, sum := fetchBody[:total], sha256.Sum256(fetchBody[:total])
			opts := quick()
			opts.Stall, opts.Attempts = stall, 1
			opts.Client = &http.Client{Transport: &slow{body: body, pieces: tc.pieces, pause: stall - time.Millisecond}}
			file := File{Path: "file.bin", Size: int64(total), SHA256: hex.EncodeToString(sum[:]), URLs: []string{"http://example.org"}}
			err := fetchFiles(context.Background(), t.TempDir(), []File{file}, opts)
			if stalled := err != nil && strings.Contains(err.Error(), "less than 102 bytes in 100ms"); stalled != tc.stalled || !stalled && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestDir(t *testing.T) {
	if runtime.GOOS == "linux" {
		t.Setenv("XDG_CACHE_HOME", "/cache")
		if got, err := Dir("", env(nil)); got != filepath.Join("/cache", "ppal") || err != nil {
			t.Errorf("cache: %q, %v", got, err)
		}
		t.Setenv("XDG_CACHE_HOME", "relative")
		if got, err := Dir("", env(nil)); err == nil {
			t.Errorf("a relative cache directory gives %q", got)
		}
	}
	vars := env(map[string]string{EnvData: "fromenv"})
	for explicit, want := range map[string]string{"": "fromenv", "given": "given"} {
		if got, err := Dir(explicit, vars); got != want || err != nil {
			t.Errorf("Dir(%q) = %q, %v; want %q", explicit, got, err, want)
		}
	}
}

func TestMirrors(t *testing.T) {
	vars := env(map[string]string{EnvMirror: "http://a/x/, ,http://b"})
	for _, test := range []struct {
		explicit []string
		getenv   func(string) string
		want     []string
	}{
		{nil, env(nil), nil},
		{nil, vars, []string{"http://a/x", "http://b"}},
		{[]string{"http://c/"}, vars, []string{"http://c"}},
	} {
		if diff := cmp.Diff(test.want, Mirrors(test.explicit, test.getenv)); diff != "" {
			t.Error(diff)
		}
	}
}

// Built-in data and the user's own files need no directory: a service may have no home.
func TestDirOf(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	none := func(string) string { return "" }
	for name, ok := range map[string]bool{"synthetic": true, "synthetic-adult": true, "csv": true, "adult": false, "nonsense": false} {
		if _, err := DirOf(name, "", none); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dir, err := DirOf("adult", "/data", none); dir != "/data" || err != nil {
		t.Error(dir, err)
	}
}
