package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// zipArchive returns an archive with one file of the given name.
func zipArchive(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	member := require.Value(w.Create(name))(t)
	require.Value(member.Write(content))(t)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// publishedZipped describes fetchBody as a file in the zip archives at urls.
func publishedZipped(urls ...string) File {
	f := published()
	f.URLs, f.Zipped = urls, "folder/file.bin"
	return f
}

func TestFetchZipped(t *testing.T) {
	archive := zipArchive(t, "folder/file.bin", fetchBody)
	broken := bytes.Clone(archive)
	broken[len(archive)/2] ^= 1
	tries := 0
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    error
		text    string
	}{
		{name: "plain", handler: func(w http.ResponseWriter, r *http.Request) { w.Write(archive) }},
		{name: "length not announced", handler: func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			w.Write(make([]byte, 2*len(fetchBody))) // an archive may begin with other bytes; these need several reads
			w.Write(archive)
		}},
		{name: "the largest archive", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(maxUnknown))
			w.Write(archive[:1000])
		}, want: dataerr.ErrDownload, text: "after 1000 of 268435456 bytes"},
		{name: "a larger archive", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(maxUnknown+1))
			w.Write(archive)
		}, want: dataerr.ErrDownload, text: "expected at most 268435456 bytes, the server states 268435457"},
		{name: "breaks off once", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(archive)))
			if tries++; tries == 1 {
				w.Write(archive[:1000])
				return
			}
			w.Write(archive)
		}},
		{name: "breaks off always", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(archive)))
			w.Write(archive[:1000])
		}, want: dataerr.ErrDownload, text: "after 1000 of " + strconv.Itoa(len(archive)) + " bytes"},
		{name: "breaks off always, length not announced", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Write(archive[:1000])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, want: dataerr.ErrDownload, text: "after 1000 of unknown bytes: unexpected EOF"},
		{name: "no archive", handler: func(w http.ResponseWriter, r *http.Request) { w.Write(fetchBody) },
			want: dataerr.ErrFormat, text: "zip: not a valid zip file; the download was deleted: repeat the command, or use a mirror (PPAL_MIRROR)"},
		{name: "cut archive", handler: func(w http.ResponseWriter, r *http.Request) { w.Write(archive[:len(archive)-30]) },
			want: dataerr.ErrFormat},
		{name: "broken member", handler: func(w http.ResponseWriter, r *http.Request) { w.Write(broken) },
			want: dataerr.ErrFormat, text: "folder/file.bin"},
		{name: "another member", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Write(zipArchive(t, "file.bin", fetchBody))
		}, want: dataerr.ErrFormat, text: "the archive has no folder/file.bin"},
		{name: "another file", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Write(zipArchive(t, "folder/file.bin", wrongBody()))
		}, want: dataerr.ErrChecksum, text: "expected sha256"},
		{name: "a longer file", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Write(zipArchive(t, "folder/file.bin", make([]byte, 10<<20)))
		}, want: dataerr.ErrChecksum, text: "expected 307200 bytes, got 307201"},
		{name: "gone", handler: http.NotFound, want: dataerr.ErrDownload, text: "404"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t, tc.handler)
			dir := t.TempDir()
			datatest.Write(t, dir, "set/file.bin.zip.part", []byte("what an earlier call left"))
			var done []int64
			opts := quick()
			opts.Progress = func(_ File, n int64) { done = append(done, n) }
			err := fetchFiles(context.Background(), dir, []File{publishedZipped(s.URL + "/archive.zip")}, opts)
			if tc.want != nil {
				datatest.CheckError(t, err, tc.want, tc.text)
				if recordio.Exists(filepath.Join(dir, "set", "file.bin")) || recordio.Exists(filepath.Join(dir, "set", "file.bin.part")) {
					t.Error("a file is left")
				}
				return
			}
			require.NoError(t, err)
			checkFetched(t, dir)
			if recordio.Exists(filepath.Join(dir, "set", "file.bin.zip.part")) {
				t.Error("the archive is left")
			}
			size := int64(len(fetchBody))
			if last := len(done) - 1; last < 1 || done[last] != size || slices.Max(done[:last]) >= size {
				t.Errorf("progress %v, want %d at the end, and less before", done, size)
			}
		})
	}
}

// TestFetchZippedFromMirror checks that Fetch downloads the extracted file from a mirror.
func TestFetchZippedFromMirror(t *testing.T) {
	s := newServer(t, good)
	dir := t.TempDir()
	opts := quick()
	opts.Mirrors = []string{s.URL}
	require.NoError(t, fetchFiles(context.Background(), dir, []File{publishedZipped("http://127.0.0.1:1")}, opts))
	checkFetched(t, dir)
}

// TestFetchZippedCancelled checks that an interrupted download leaves no file, and that the error
// says how to continue.
func TestFetchZippedCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	dir := t.TempDir()
	err := fetchFiles(ctx, dir, []File{publishedZipped(s.URL)}, quick())
	datatest.CheckError(t, err, context.Canceled, "repeat the command to continue")
	if _, err := os.Stat(filepath.Join(dir, "set", "file.bin")); err == nil {
		t.Error("a file is there")
	}
}

func TestFetchOwn(t *testing.T) {
	err := Fetch(context.Background(), t.TempDir(), "csv", FetchOptions{})
	datatest.CheckError(t, err, dataerr.ErrOption, "csv is your own file: there is nothing to download")
}
