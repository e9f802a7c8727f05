package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// fetchBody is the content of the file that the test servers publish.
var fetchBody = func() []byte {
	data := make([]byte, 300<<10)
	for i := range data {
		data[i] = byte(i*i>>7 ^ i)
	}
	return data
}()

// published describes fetchBody with the given base URLs.
func published(bases ...string) File {
	s := sha256.Sum256(fetchBody)
	f := File{Path: "set/file.bin", Size: int64(len(fetchBody)), SHA256: hex.EncodeToString(s[:])}
	for _, base := range bases {
		f.URLs = append(f.URLs, base+"/"+f.Path)
	}
	return f
}

// server serves requests with handler and records the Range header of every request.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string
}

func newServer(t *testing.T, handler http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.mu.Unlock()
		if form := r.Header.Get("Accept-Encoding"); form != "identity" { // the checksum covers the bytes as sent
			t.Errorf("the request accepts the encoding %q", form)
		}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// good serves ranges correctly.
func good(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "file.bin", time.Time{}, bytes.NewReader(fetchBody))
}

// breaking serves at most n bytes from the requested position and then drops the connection.
func breaking(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from := rangeStart(r)
		rest := fetchBody[from:]
		w.Header().Set("Content-Length", strconv.Itoa(len(rest)))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(fetchBody)-1, len(fetchBody)))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(rest[:min(n, len(rest))])
	}
}

func rangeStart(r *http.Request) int {
	from, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"))
	return from
}

// quick returns options without long pauses, for tests.
func quick() FetchOptions {
	return FetchOptions{Backoff: time.Millisecond, Attempts: 3}.withDefaults()
}

// watched sends requests, keeps their contexts, and counts the answers that nobody has closed.
type watched struct {
	contexts []context.Context
	open     int
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.contexts = append(w.contexts, r.Context())
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.open++
		response.Body = watchedBody{response.Body, sync.OnceFunc(func() { w.open-- })}
	}
	return response, err
}

// watchedBody calls closed when it is closed.
type watchedBody struct {
	io.ReadCloser
	closed func()
}

func (b watchedBody) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}

// checkFetched checks that the file is in place and that no partial file remains.
func checkFetched(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "set", "file.bin")
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, fetchBody) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if recordio.Exists(path + ".part") {
		t.Error(".part is left")
	}
}

// fetchPart is the number of bytes of fetchBody that an earlier call left or a server sends.
const fetchPart = 100 << 10

// wrongBody has the length of fetchBody and differs in the last byte.
func wrongBody() []byte {
	wrong := bytes.Clone(fetchBody)
	wrong[len(wrong)-1] ^= 1
	return wrong
}

// A set has all its files, also if one file is present before.
func TestFetchSeveralFiles(t *testing.T) {
	s, dir := newServer(t, good), t.TempDir()
	var files []File
	for _, name := range []string{"set/file.bin", "set/b", "set/c"} {
		f := published(s.URL)
		f.Path = name
		files = append(files, f)
	}
	datatest.Write(t, dir, "set/b", fetchBody)
	if err := fetchFiles(context.Background(), dir, files, quick()); err != nil || len(s.ranges) != 2 {
		t.Errorf("%v after requests %q", err, s.ranges)
	}
	for _, f := range files {
		if got, err := os.ReadFile(filepath.Join(dir, f.Path)); err != nil || !bytes.Equal(got, fetchBody) {
			t.Errorf("%s: %d bytes, %v", f.Path, len(got), err)
		}
	}
}

func TestFetchPresent(t *testing.T) {
	s := newServer(t, good)
	dir := t.TempDir()
	path := datatest.Write(t, dir, "set/file.bin", fetchBody)
	if err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, quick()); err != nil || len(s.ranges) > 0 {
		t.Errorf("%v after requests %q", err, s.ranges)
	}
	datatest.Write(t, "", path, fetchBody[1:])
	if err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, quick()); err != nil || len(s.ranges) != 1 {
		t.Errorf("%v after requests %q", err, s.ranges)
	}
	checkFetched(t, dir)
}

func TestFetchCancelLeavesPart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			good(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(fetchBody)))
		w.Write(fetchBody[:100<<10])
		w.(http.Flusher).Flush()
		<-r.Context().Done() // send nothing until the client disconnects
	})
	dir := t.TempDir()
	opts := quick()
	opts.Progress = func(_ File, done int64) {
		if done == 100<<10 {
			cancel()
		}
	}
	opts.Log = slog.New(slog.NewTextHandler(onWrite(func(text string) { t.Errorf("a cancelled download says %s", text) }), nil))
	err := fetchFiles(ctx, dir, []File{published(s.URL)}, opts)
	datatest.CheckError(t, err, context.Canceled, "repeat the command to continue")
	if info, err := os.Stat(filepath.Join(dir, "set", "file.bin.part")); err != nil || info.Size() != 100<<10 {
		t.Fatalf("%v, %v", info, err)
	}
	require.NoError(t, fetchFiles(context.Background(), dir, []File{published(s.URL)}, quick()))
	if diff := cmp.Diff([]string{"", "bytes=102400-"}, s.ranges); diff != "" {
		t.Error(diff)
	}
	checkFetched(t, dir)
}

func TestFetchStall(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	opts := quick()
	opts.Stall = 20 * time.Millisecond
	err := fetchFiles(context.Background(), t.TempDir(), []File{published(s.URL)}, opts)
	datatest.CheckError(t, err, dataerr.ErrDownload, "less than 20 bytes in 20ms")
	if len(s.ranges) != 3 {
		t.Errorf("%d attempts", len(s.ranges))
	}
}

func TestFetchSources(t *testing.T) {
	gone, whole := newServer(t, http.NotFound), newServer(t, good)
	t.Run("second source", func(t *testing.T) {
		dir := t.TempDir()
		var log strings.Builder
		opts := quick()
		opts.Log = slog.New(slog.NewTextHandler(&log, nil))
		require.NoError(t, fetchFiles(context.Background(), dir, []File{published(gone.URL, whole.URL)}, opts))
		checkFetched(t, dir)
		if text := log.String(); !strings.Contains(text, `msg="source failed" url=`+gone.URL+"/") || strings.Contains(text, whole.URL) {
			t.Errorf("log %s", text)
		}
	})
	t.Run("mirror in place of the source", func(t *testing.T) {
		dir := t.TempDir()
		opts := quick()
		opts.Mirrors = []string{whole.URL + "/mirror"}
		require.NoError(t, fetchFiles(context.Background(), dir, []File{published("http://127.0.0.1:1")}, opts))
		checkFetched(t, dir)
	})
	t.Run("none", func(t *testing.T) {
		err := fetchFiles(context.Background(), t.TempDir(), []File{published(gone.URL, gone.URL+"/other")}, quick())
		datatest.CheckError(t, err, dataerr.ErrDownload, "; before: ")
	})
}

func TestFetchProgress(t *testing.T) {
	s := newServer(t, good)
	dir := t.TempDir()
	datatest.Write(t, dir, "set/file.bin.part", fetchBody[:1000])
	var seen []int64
	opts := quick()
	opts.Progress = func(f File, done int64) {
		if f.Path != "set/file.bin" {
			t.Errorf("progress of %q", f.Path)
		}
		if len(seen) > 0 && done < seen[len(seen)-1] {
			t.Errorf("falls back from %d to %d", seen[len(seen)-1], done)
		}
		seen = append(seen, done)
	}
	require.NoError(t, fetchFiles(context.Background(), dir, []File{published(s.URL)}, opts))
	if seen[0] != 1000 || seen[len(seen)-1] != int64(len(fetchBody)) {
		t.Errorf("from %d to %d", seen[0], seen[len(seen)-1])
	}
}

func TestFetchByName(t *testing.T) {
	if err := Fetch(context.Background(), t.TempDir(), "synthetic", FetchOptions{}); err != nil {
		t.Error(err)
	}
	err := Fetch(context.Background(), t.TempDir(), "nonsense", FetchOptions{})
	datatest.CheckError(t, err, dataerr.ErrUnknownDataset, "nonsense")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = Fetch(ctx, t.TempDir(), "cifar10", FetchOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Fetch refuses mirrors with an unsupported scheme before it downloads anything.
func TestFetchRefusesMirrors(t *testing.T) {
	for _, base := range []string{"ftp://example.org", "example.org/data", "/srv/data", "https://", "http://a b"} {
		dir := filepath.Join(t.TempDir(), "data")
		err := Fetch(context.Background(), dir, "fashion-mnist", FetchOptions{Mirrors: []string{"https://example.org", base}, Attempts: 1})
		datatest.CheckError(t, err, dataerr.ErrMirror, base)
		if recordio.Exists(dir) {
			t.Errorf("%s: the directory was made", base)
		}
	}
}

// fetchCase is the expected result of a download from one kind of server.
type fetchCase struct {
	name    string
	part    []byte // partial file of an earlier call
	handler http.HandlerFunc
	ranges  []string // requests expected
	want    error    // nil: the download succeeds
	text    string
	left    int // bytes of .part after an error; -1: none
	again   bool
}

// resuming returns downloads with partial transfers, which continue or start again.
func resuming() []fetchCase {
	wrong := wrongBody()
	return []fetchCase{
		{name: "plain", handler: good, ranges: []string{""}},
		{name: "resumed", part: fetchBody[:fetchPart], handler: good, ranges: []string{"bytes=102400-"}},
		{name: "part is complete", part: fetchBody, handler: good},
		{name: "part is too long", part: append(bytes.Clone(fetchBody), 1), handler: good, ranges: []string{""}},
		{name: "part is wrong", part: wrong[len(wrong)-fetchPart:], handler: good, ranges: []string{"bytes=102400-", ""}, again: true},
		{name: "breaks off midway", handler: breaking(fetchPart), ranges: []string{"", "bytes=102400-", "bytes=204800-"}},
		{name: "breaks off at once", handler: breaking(0), ranges: []string{"", "", ""},
			want: dataerr.ErrDownload, text: "download failed after 0 of 307200 bytes: unexpected EOF; repeat the command", left: -1},
		{name: "ignores Range", part: fetchBody[:fetchPart], handler: func(w http.ResponseWriter, r *http.Request) { w.Write(fetchBody) },
			ranges: []string{"bytes=102400-"}},
		{name: "ignores Range and breaks off", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(fetchBody)))
			w.Write(fetchBody[:fetchPart])
		}, ranges: []string{"", "bytes=102400-", "bytes=102400-", "bytes=102400-"}, want: dataerr.ErrDownload, text: "after 102400 of", left: fetchPart},
		{name: "resumes elsewhere", part: fetchBody[:fetchPart], handler: func(w http.ResponseWriter, r *http.Request) {
			if rangeStart(r) > 0 {
				w.Header().Set("Content-Range", "bytes 0-307199/307200")
				w.WriteHeader(http.StatusPartialContent)
			}
			w.Write(fetchBody)
		}, ranges: []string{"bytes=102400-", ""}},
		{name: "no such range", part: fetchBody[:fetchPart], handler: func(w http.ResponseWriter, r *http.Request) {
			if rangeStart(r) > 0 {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			w.Write(fetchBody)
		}, ranges: []string{"bytes=102400-", ""}},
	}
}

// misled returns downloads from servers that have a different file or no file.
func misled() []fetchCase {
	wrong := wrongBody()
	return []fetchCase{
		{name: "announces too little", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Write(fetchBody[:1000])
		}, ranges: []string{""}, want: dataerr.ErrDownload, text: "expected 307200 bytes, the server states 1000", left: -1},
		{name: "announces nothing", handler: func(http.ResponseWriter, *http.Request) {}, ranges: []string{""},
			want: dataerr.ErrDownload, text: "the server states 0", left: -1},
		{name: "announces too much", part: fetchBody[:fetchPart], handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "400000")
			w.Write(fetchBody)
		}, ranges: []string{"bytes=102400-"}, want: dataerr.ErrDownload, text: "the server states 400000", left: fetchPart},
		{name: "sends too much", handler: func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush() // the response has no Content-Length
			w.Write(fetchBody)
			w.Write(fetchBody)
		}, ranges: []string{""}, want: dataerr.ErrChecksum,
			text: "checksum mismatch: expected 307200 bytes, got more; the download was deleted", left: -1},
		{name: "sends too little", handler: func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			w.Write(fetchBody[:1000])
		}, ranges: []string{"", "bytes=1000-", "bytes=1000-"}, want: dataerr.ErrDownload, text: "after 1000 of 307200", left: 1000},
		{name: "sends a byte for each request", handler: breaking(1), ranges: []string{"", "bytes=1-", "bytes=2-"},
			want: dataerr.ErrDownload, text: "after 3 of 307200", left: 3},
		{name: "wrong bytes", handler: func(w http.ResponseWriter, r *http.Request) { w.Write(wrong) },
			ranges: []string{""}, want: dataerr.ErrChecksum, text: "checksum mismatch: expected sha256 " + published().SHA256 + ", got ", left: -1},
		{name: "wrong bytes after resuming", part: wrong[:fetchPart], handler: func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "file.bin", time.Time{}, bytes.NewReader(wrong))
		}, ranges: []string{"bytes=102400-", ""}, want: dataerr.ErrChecksum, text: "checksum mismatch", left: -1, again: true},
		{name: "wrong bytes after an empty part", part: []byte{}, handler: func(w http.ResponseWriter, r *http.Request) { w.Write(wrong) },
			ranges: []string{""}, want: dataerr.ErrChecksum, text: "checksum mismatch", left: -1},
		{name: "not found", handler: http.NotFound, ranges: []string{""}, want: dataerr.ErrDownload, text: "server answers 404 Not Found", left: -1},
		{name: "redirects to a file", handler: http.RedirectHandler("file:///etc/passwd", http.StatusFound).ServeHTTP, ranges: []string{""},
			want: dataerr.ErrDownload, text: `redirect refused: to the scheme "file"`, left: -1},
		{name: "redirects for ever", handler: http.RedirectHandler("/again", http.StatusFound).ServeHTTP, ranges: slices.Repeat([]string{""}, maxRedirects),
			want: dataerr.ErrDownload, text: "redirect refused: more than 10 redirects", left: -1},
		{name: "overloaded", handler: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
			ranges: slices.Repeat([]string{""}, 3+moreAttempts), want: dataerr.ErrDownload, text: "server answers 503 Service Unavailable", left: -1},
	}
}

func TestFetchGivesUpOrGetsThere(t *testing.T) {
	for _, test := range slices.Concat(resuming(), misled()) {
		t.Run(test.name, test.run)
	}
}

func (test fetchCase) run(t *testing.T) {
	s := newServer(t, test.handler)
	dir := t.TempDir()
	partPath := filepath.Join(dir, "set", "file.bin.part")
	if test.part != nil {
		datatest.Write(t, dir, "set/file.bin.part", test.part)
	}
	requests := &watched{}
	var log strings.Builder
	opts := quick()
	opts.Client, opts.Log = redirecting(&http.Client{Transport: requests}), slog.New(slog.NewTextHandler(&log, nil))
	err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, opts)
	if diff := cmp.Diff(test.ranges, s.ranges); diff != "" {
		t.Errorf("requests: %s", diff)
	}
	if strings.Contains(log.String(), "resumed download has the wrong checksum, starting again") != test.again {
		t.Errorf("log %s", log.String())
	}
	for k, ctx := range requests.contexts {
		if ctx.Err() == nil {
			t.Errorf("the context of request %d does not end with its transfer", k)
		}
	}
	if requests.open != 0 {
		t.Errorf("%d answers of %d are not closed", requests.open, len(requests.contexts))
	}
	if test.want == nil {
		require.NoError(t, err)
		checkFetched(t, dir)
		return
	}
	datatest.CheckError(t, err, test.want, test.text)
	if recordio.Exists(filepath.Join(dir, "set", "file.bin")) {
		t.Error("a file is in place")
	}
	left := -1
	if info, err := os.Stat(partPath); err == nil {
		left = int(info.Size())
	}
	if left != test.left {
		t.Errorf("%d bytes of .part left, want %d", left, test.left)
	}
}
