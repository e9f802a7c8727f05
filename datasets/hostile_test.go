package datasets

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/newrows"
	"ppal/internal/recordio"
	"ppal/internal/relay"
	"ppal/internal/require"
)

// Of two downloads of one file, the second waits, and then finds the file of the first.
func TestFetchTwice(t *testing.T) {
	begun, second := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(fetchBody)))
		w.Write(fetchBody[:fetchPart])
		w.(http.Flusher).Flush()
		close(begun)
		<-second
		w.Write(fetchBody[fetchPart:])
	})
	dir := t.TempDir()
	var both sync.WaitGroup
	both.Go(func() {
		if err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, quick()); err != nil {
			t.Error(err)
		}
	})
	<-begun
	waits := make(chan struct{})
	both.Go(func() {
		opts := quick()
		opts.Log = slog.New(slog.NewTextHandler(onWrite(func(text string) {
			if strings.Contains(text, "another process downloads") {
				close(waits)
			}
		}), nil))
		if err := fetchFiles(context.Background(), dir, []File{published(s.URL)}, opts); err != nil {
			t.Error(err)
		}
	})
	<-waits
	close(second)
	both.Wait()
	if len(s.ranges) != 1 {
		t.Errorf("%d requests, want 1", len(s.ranges))
	}
	checkFetched(t, dir)
	if entries, err := os.ReadDir(filepath.Join(dir, "set")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the file alone", entries, err)
	}
}

// onWrite is a writer that calls a function.
type onWrite func(text string)

func (w onWrite) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// A waiting download ends when its context is cancelled.
func TestFetchStopsWaiting(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "set"), 0o755))
	lock := require.Value(lockFolder(context.Background(), filepath.Join(dir, "set"), quick().Log))(t)
	defer lock.Release()
	ctx, cancel := context.WithCancel(context.Background())
	opts := quick()
	opts.Log = slog.New(slog.NewTextHandler(onWrite(func(string) { cancel() }), nil))
	datatest.CheckError(t, fetchFiles(ctx, dir, []File{published("http://127.0.0.1:1")}, opts), context.Canceled, "canceled")
	// The reason for waiting is told at once, and once.
	for _, wait := range []time.Duration{lockPoll / 2, 5 * lockPoll / 2} {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		told := 0
		opts.Log = slog.New(slog.NewTextHandler(onWrite(func(string) { told++ }), nil))
		if _, err := lockFolder(ctx, filepath.Join(dir, "set"), opts.Log); !errors.Is(err, context.DeadlineExceeded) || told != 1 {
			t.Errorf("%v: %v, told %d times", wait, err, told)
		}
	}
}

// A download never writes through a link, and never opens a pipe.
func TestFetchRefusesLinks(t *testing.T) {
	wrong := newServer(t, func(w http.ResponseWriter, r *http.Request) { w.Write(wrongBody()) })
	archive := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(zipArchive(t, "folder/file.bin", fetchBody))
	})
	for _, tc := range []struct {
		link string
		file File
	}{
		{"file.bin.part", published(wrong.URL)},
		{"file.bin.zip.part", publishedZipped(archive.URL)},
		{"file.bin.part", publishedZipped(archive.URL)},
	} {
		dir := t.TempDir()
		victim := datatest.Write(t, dir, "victim", []byte("precious"))
		datatest.Write(t, dir, "set/other", nil)
		require.NoError(t, os.Symlink(victim, filepath.Join(dir, "set", tc.link)))
		err := fetchFiles(context.Background(), dir, []File{tc.file}, quick())
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", tc.link, err)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
			t.Errorf("%s: the victim holds %d bytes, %v", tc.link, len(text), err)
		}
	}
	dir := t.TempDir()
	datatest.Write(t, dir, "set/other", nil)
	nowhere := filepath.Join(dir, "nowhere")
	require.NoError(t, os.Symlink(nowhere, filepath.Join(dir, "set", "file.bin.part")))
	err := fetchFiles(context.Background(), dir, []File{published(wrong.URL)}, quick())
	if err == nil || !strings.Contains(err.Error(), "not a regular file") || recordio.Exists(nowhere) {
		t.Errorf("a link to no file: %v, and the file is made: %t", err, recordio.Exists(nowhere))
	}
	dir = t.TempDir()
	datatest.Write(t, dir, "set/other", nil)
	if err := syscall.Mkfifo(filepath.Join(dir, "set", "file.bin.part"), 0o644); err != nil {
		t.Skip(err)
	}
	datatest.CheckError(t, fetchFiles(context.Background(), dir, []File{published(wrong.URL)}, quick()), dataerr.ErrFormat, "not a regular file; remove it")
	if err := syscall.Mkfifo(filepath.Join(dir, "set", "file.bin"), 0o644); err != nil {
		t.Skip(err)
	}
	datatest.CheckError(t, fetchFiles(context.Background(), dir, []File{published(wrong.URL)}, quick()), dataerr.ErrFormat, "not a regular file; remove it")
	if _, err := checkFile(context.Background(), dir, published()); err == nil {
		t.Error("data check reads a pipe")
	}
}

// A server that resumes at another place is refused before its bytes are taken.
func TestFetchChecksTheRange(t *testing.T) {
	for _, answer := range []string{"", "bytes 0-204799/307200", "bytes 102400-307199/307201", "bytes 102400-307199/*"} {
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			from := rangeStart(r)
			if from > 0 {
				w.Header().Set("Content-Range", answer)
				w.WriteHeader(http.StatusPartialContent)
				w.Write(fetchBody[:len(fetchBody)-from])
				return
			}
			w.Write(fetchBody)
		})
		dir := t.TempDir()
		datatest.Write(t, dir, "set/file.bin.part", fetchBody[:fetchPart])
		opts := quick()
		var seen []int64
		opts.Progress = func(_ File, done int64) { seen = append(seen, done) }
		var log bytes.Buffer
		opts.Log = slog.New(slog.NewTextHandler(&log, nil))
		require.NoError(t, fetchFiles(context.Background(), dir, []File{published(s.URL)}, opts))
		checkFetched(t, dir)
		if strings.Contains(log.String(), "wrong checksum") || slices.Max(seen[:2]) > fetchPart {
			t.Errorf("%q: took the bytes: %v\n%s", answer, seen[:2], &log)
		}
	}
}

// A server that sends less than the least rate counts as stalled, even if it sends all the time.
func TestFetchLeastRate(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		for i := range 1000 {
			if _, err := w.Write(fetchBody[i : i+1]); err != nil || r.Context().Err() != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	opts := quick()
	opts.Stall, opts.Attempts = 100*time.Millisecond, 1
	err := fetchFiles(context.Background(), t.TempDir(), []File{published(s.URL)}, opts)
	datatest.CheckError(t, err, dataerr.ErrDownload, "less than 102 bytes in 100ms")
}

// A busy server says how long to wait, up to a limit.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"120": 2 * time.Minute, "": 0, "-1": 0, "soon": 0, "99999999999": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	var asked atomic.Int32
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		good(w, r)
	})
	ctx, cancel := context.WithCancel(context.Background())
	opts := quick()
	var log strings.Builder
	opts.Log = slog.New(slog.NewTextHandler(onWrite(func(text string) {
		log.WriteString(text)
		cancel() // ends the pause
	}), nil))
	err := fetchFiles(ctx, t.TempDir(), []File{published(s.URL)}, opts)
	datatest.CheckError(t, err, context.Canceled, "canceled")
	if want := fmt.Sprintf("pause=%v", maxRetryAfter); !strings.Contains(log.String(), want) {
		t.Errorf("%s, want %s", &log, want)
	}
}

// Messages hide the name and the password in a URL, and a server's control characters.
func TestFetchMessages(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:secret@example.org/a": "https://...@example.org/a", "https://token@example.org/a": "https://...@example.org/a",
		"https://example.org/a?b=c": "https://example.org/a?b=c", "http://user:secret@exa mple/%zz": "...@exa mple/%zz",
	} {
		if got := shown(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer raw.Close()
	go func() {
		for {
			c, err := raw.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1<<12))
			_, _ = c.Write([]byte("HTTP/1.1 404 \x1b[31mred\x1b]0;title\a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
			c.Close()
		}
	}()
	opts := quick()
	var log bytes.Buffer
	opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	opts.Mirrors = []string{"http://user:secret@" + raw.Addr().String()}
	err = fetchFiles(context.Background(), t.TempDir(), []File{published()}, opts)
	datatest.CheckError(t, err, dataerr.ErrDownload, "server answers 404 Not Found")
	opts.Mirrors = []string{"http://user:secret@127.0.0.1:1"}
	opts.Attempts = 2
	refused := fetchFiles(context.Background(), t.TempDir(), []File{published()}, opts)
	if all := err.Error() + refused.Error() + log.String(); strings.Contains(all, "secret") || strings.Contains(all, "user") || strings.Contains(all, "\x1b") {
		t.Errorf("printed: %q", all)
	}
	datatest.CheckError(t, Fetch(context.Background(), t.TempDir(), "adult", FetchOptions{Mirrors: []string{"ftp://user:secret@example.org"}}), dataerr.ErrMirror, "ftp://...@example.org")
}

// A record that never ends is refused. Records up to the limit are read.
func TestEndlessRecords(t *testing.T) {
	for name, begin := range map[string]string{"row": "a,b\n1,2\n", "quotes": "a,b\n1,\""} {
		d, err := recordio.NewDelimited(io.MultiReader(strings.NewReader(begin), datatest.Again("ab")), "file", tabular.Layout{Separator: ","})
		require.NoError(t, err)
		if d.Text.Most != recordio.MaxLine {
			t.Errorf("the limit is %d", d.Text.Most)
		}
		d.Text.Most = 1 << 17
		if err = eachRow(d, func([]string) error { return nil }); !errors.Is(err, recordio.ErrLongRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := require.Value(recordio.NewDelimited(strings.NewReader("a,b\n"+strings.Repeat(strings.Repeat("1", 40_000)+",2\n", 20)), "file", tabular.Layout{Separator: ","}))(t)
	d.Text.Most = 1 << 17
	rows := 0
	if err := eachRow(d, func([]string) error { rows++; return nil }); err != nil || rows != 20 {
		t.Errorf("%d of 20 records of 40,000 bytes: %v", rows, err)
	}
}

// A small file that claims many labels is refused before they are read.
func TestLabelBomb(t *testing.T) {
	var text bytes.Buffer
	zip := gzip.NewWriter(&text)
	header := binary.BigEndian.AppendUint32([]byte{0, 0, recordio.IDXBytes, 1}, 1<<31-1)
	require.Value(zip.Write(header))(t)
	require.NoError(t, zip.Close())
	_, err := newrows.ReadIDXLabels(&text, "labels.gz")
	datatest.CheckFileError(t, err, dataerr.ErrFormat, "2147483647 labels, want at most 16777216")
}

// Reading a table ends when the context is cancelled, in the training and in the test file.
func TestReadingIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	long := datatest.Write(t, dir, "long.csv", []byte("a,b\n"+strings.Repeat("1,yes\n2,no\n", 300_000)))
	short := datatest.Write(t, dir, "short.csv", []byte("a,b\n"+strings.Repeat("1,yes\n2,no\n", 50)))
	sparse := datatest.Write(t, dir, "long.svm", []byte(strings.Repeat("1 1:1\n-1 2:1\n", 300_000)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, opts := range map[string]tabular.TableOptions{
		"csv": {File: long, Label: "b=yes"}, "libsvm": {File: sparse}, "test": {File: short, TestFile: long, Label: "b=yes"},
	} {
		dataset := name
		if name == "test" {
			dataset = "csv"
		}
		if _, err := LoadTableContext(ctx, "", dataset, opts); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The time and the memory of a table with many columns grow with their number: every lookup by name
// is a map's.
func TestManyColumns(t *testing.T) {
	const columns = 3000
	var text strings.Builder
	for i := range columns {
		fmt.Fprintf(&text, "c%d,", i)
	}
	text.WriteString("label\n")
	for row := range 12 {
		for i := range columns {
			fmt.Fprintf(&text, "%d,", (row*(i+1))%7)
		}
		text.WriteString([]string{"no", "yes"}[row%2] + "\n")
	}
	file := datatest.Write(t, t.TempDir(), "wide.csv", []byte(text.String()))
	tables := loaded(t, "csv", tabular.TableOptions{File: file, Label: "label=yes", Groups: []string{"c5<3"}, Ignore: []string{"c7"}, Split: tabular.Split{Train: 100}})
	if names := tables.Train.Columns; len(names) != columns-1 || !slices.Contains(names, "c2999") || slices.Contains(names, "c7") {
		t.Errorf("%d features", len(names))
	}
}

// thrown returns the panic of f.
func thrown(f func()) (p *relay.Panic) {
	defer func() { p, _ = recover().(*relay.Panic) }()
	f()
	return nil
}

// panickingStore panics for every row.
type panickingStore struct{}

func (panickingStore) SetRows(int, [][]uint8) { panic("a bug in the store") }

// A panic in a goroutine that stores pictures or prepares new rows arrives at the caller, also if
// every block causes a panic.
func TestWorkersPanic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	train, _, err := OpenImages(writeFashion(t, 3000), "fashion-mnist", 7)
	require.NoError(t, err)
	places := make([]int, len(train.Labels))
	for i := range places {
		places[i] = i
	}
	if p := thrown(func() { _, _ = train.Read(places, 0, panickingStore{}) }); p == nil || p.Value != "a bug in the store" {
		t.Errorf("pictures: %+v", p)
	}
	text := "x,y,c,d\n" + strings.Repeat("3,5,a,p\n", 100_000)
	for name, in := range map[string]io.Reader{
		"work": strings.NewReader(text), "read": io.MultiReader(strings.NewReader(text[:len(text)/2]), panickingReader{}),
	} {
		set := newrows.NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}, Emit: func(*newrows.Block) error { return nil }}
		set.Work = func(_, results []float64) ([]float64, error) {
			if name == "work" {
				panic("a bug in the rows")
			}
			return results, nil
		}
		if p := thrown(func() { err = set.Read(in, "file") }); p == nil || p.Value != "a bug in the rows" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	// A constructor's panic does not block the chunks.
	chunks := 3
	next := func([]byte) (recordio.Chunk, error) {
		if chunks--; chunks < 0 {
			return recordio.Chunk{}, io.EOF
		}
		return recordio.Chunk{Text: []byte("x")}, nil
	}
	newWorker := func() func(recordio.Chunk, *int) error { panic("no worker") }
	emit := func(*int) error { t.Error("an incomplete result"); return nil }
	if p := thrown(func() { _ = recordio.InOrder(next, newWorker, emit) }); p == nil || p.Value != "no worker" {
		t.Errorf("constructor: %+v", p)
	}
	if p := thrown(func() { recordio.InParallel(5, func(int) { panic("in parallel") }) }); p == nil || p.Value != "in parallel" {
		t.Errorf("in parallel: %+v", p)
	}
}

// panickingReader panics at every read.
type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("a bug in the rows") }
