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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/inputfile"
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
	if inputfile.Exists(path + ".part") {
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
		if inputfile.Exists(dir) {
			t.Errorf("%s: the directory was made", base)
		}
	}
}
