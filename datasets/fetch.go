package datasets

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// FetchOptions configures a download. The zero value is ready to use.
type FetchOptions struct {
	// Client sends the requests; nil is http.DefaultClient.
	Client *http.Client
	// Mirrors are base URLs (see Mirrors) that replace the original sources, tried in this order.
	Mirrors []string
	// Attempts is the number of consecutive failed transfers without a new byte after which a
	// source is given up; 0 is 5.
	Attempts int
	// Backoff is the pause after the first failure. It doubles with every further failure, up to 30
	// times the first pause. 0 is one second.
	Backoff time.Duration
	// Stall is the time without data after which a transfer counts as failed; 0 is 30 seconds.
	Stall time.Duration
	// Progress, if not nil, is called for every file: once at the start with the bytes that an
	// earlier call left, then as bytes arrive, and at the end with done == file.Size. done
	// decreases if a server cannot resume.
	Progress func(file File, done int64)
	// Log receives retries and changes of source; nil discards them.
	Log *slog.Logger
}

// withDefaults replaces zero fields by their defaults.
func (o FetchOptions) withDefaults() FetchOptions {
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Attempts == 0 {
		o.Attempts = 5
	}
	if o.Backoff == 0 {
		o.Backoff = time.Second
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(File, int64) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Fetch downloads the files of the named data set into the data directory dir, except files that
// already have the right checksum. A data set without files (synthetic) needs no download.
//
// A file grows as FILE.part. After a broken transfer or a cancelled call, the next transfer
// continues with an HTTP range request. Fetch compares the whole file with the published checksums,
// syncs it, and only then renames it to FILE. It deletes bytes that fail the check. If a file is
// published in a zip archive, Fetch extracts the file and then checks the extracted file. Mirrors
// hold the extracted file. For a user's own file (csv, libsvm) the error is ErrOption.
//
// Errors wrap ErrUnknownDataset, ErrMirror, ErrChecksum, ErrDownload, the context's error, or an
// error of the file system.
func Fetch(ctx context.Context, dir, name string, opts FetchOptions) error {
	d, err := Lookup(name)
	if err != nil {
		return err
	}
	if d.Own {
		return fmt.Errorf("datasets: %w: %s is your own file: there is nothing to download", ErrOption, name)
	}
	for _, base := range opts.Mirrors {
		if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("datasets: %w %q; want an http or https URL with a host", ErrMirror, base)
		}
	}
	return fetchFiles(ctx, dir, d.Files, opts.withDefaults())
}

func fetchFiles(ctx context.Context, dir string, files []File, opts FetchOptions) error {
	for _, file := range files {
		if err := fetchFile(ctx, dir, file, opts); err != nil {
			return err
		}
	}
	return nil
}

// fetchFile downloads one file from the first source that has the file, unless the file on disk is
// already complete.
func fetchFile(ctx context.Context, dir string, file File, opts FetchOptions) error {
	path := filepath.Join(dir, filepath.FromSlash(file.Path))
	found, err := sumFile(ctx, path)
	if err == nil && found.matches(file) == nil {
		opts.Progress(file, file.Size)
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("datasets: %w; use another data directory (--data-dir)", err)
	}
	var failures error
	fetch := fetchFrom
	if file.Zipped != "" && len(opts.Mirrors) == 0 {
		fetch = fetchZipped
	}
	for _, url := range sources(file, opts.Mirrors) {
		err := fetch(ctx, url, path, file, opts)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("datasets: %s: %w; repeat the command to continue", url, context.Cause(ctx))
		}
		opts.Log.Warn("source failed", "url", url, "error", err)
		if failures != nil {
			err = fmt.Errorf("%w; before: %w", err, failures)
		}
		failures = err
	}
	return failures
}

// sources returns the URLs of a file.
func sources(file File, mirrors []string) []string {
	if len(mirrors) == 0 {
		return file.URLs
	}
	urls := make([]string, len(mirrors))
	for i, base := range mirrors {
		urls[i] = base + "/" + file.Path
	}
	return urls
}

// fetchFrom completes the partial file path + ".part" from one source, checks the file and renames
// the file to path. Bytes of an earlier call may belong to another file, so if the check fails
// after resuming, fetchFrom starts again once.
func fetchFrom(ctx context.Context, url, path string, file File, opts FetchOptions) error {
	part := path + ".part"
	info, err := os.Stat(part)
	resumed := err == nil && info.Size() > 0
	err = downloadChecked(ctx, url, part, file, opts)
	if resumed && errors.Is(err, ErrChecksum) {
		opts.Log.Warn("resumed download has the wrong checksum, starting again", "url", url, "error", err)
		err = downloadChecked(ctx, url, part, file, opts)
	}
	if err != nil {
		return err
	}
	return putInPlace(part, path)
}

// putInPlace renames a complete, synced file.
func putInPlace(part, path string) error {
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// downloadChecked completes part and compares it with the published file. It deletes wrong bytes.
func downloadChecked(ctx context.Context, url, part string, file File, opts FetchOptions) error {
	err := download(ctx, url, part, file, opts)
	if err == nil {
		var found sums
		if found, err = sumFile(ctx, part); err != nil {
			return err
		}
		err = found.matches(file)
	}
	if !errors.Is(err, ErrChecksum) {
		return err
	}
	if rmErr := os.Remove(part); rmErr != nil {
		return fmt.Errorf("datasets: %w", rmErr)
	}
	return fmt.Errorf("datasets: %s: %w; the download was deleted: repeat the command, or use another mirror (%s)", url, err, EnvMirror)
}

// syncDir makes a rename durable on systems that can sync directories.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	defer d.Close()
	_ = d.Sync() // some systems refuse to sync a directory; the file is already synced
	return nil
}

// sums holds the size and the checksums of a file on disk.
type sums struct {
	size        int64
	md5, sha256 string
}

// sumFile reads a file once for its size and checksums.
func sumFile(ctx context.Context, path string) (sums, error) {
	f, err := openInput(path)
	if err != nil {
		return sums{}, err
	}
	defer f.Close()
	m, s := md5.New(), sha256.New()
	n, err := io.Copy(io.MultiWriter(m, s), contextReader{ctx, f})
	if err != nil {
		return sums{}, fileError(path, err)
	}
	hexSum := func(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
	return sums{size: n, md5: hexSum(m), sha256: hexSum(s)}, nil
}

// matches compares the sums with the published values that are known.
func (s sums) matches(file File) error {
	switch {
	case s.size != file.Size:
		return fmt.Errorf("%w: expected %d bytes, got %d", ErrChecksum, file.Size, s.size)
	case file.MD5 != "" && s.md5 != file.MD5:
		return fmt.Errorf("%w: expected md5 %s, got %s", ErrChecksum, file.MD5, s.md5)
	case file.SHA256 != "" && s.sha256 != file.SHA256:
		return fmt.Errorf("%w: expected sha256 %s, got %s", ErrChecksum, file.SHA256, s.sha256)
	}
	return nil
}

// contextReader stops reading when its context is cancelled.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
