package datasets

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/inputfile"
	"ppal/internal/require"
)

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
	if inputfile.Exists(filepath.Join(dir, "set", "file.bin")) {
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
