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

// FetchOptions adjusts a download. The zero value works.
type FetchOptions struct {
	// Client sends the requests; nil means http.DefaultClient.
	Client *http.Client
	// Mirrors are base URLs (see Mirrors) to use in place of the original
	// sources, tried in this order.
	Mirrors []string
	// Attempts is how often in a row a broken transfer may fail without a new
	// byte before a source is given up; 0 means 5.
	Attempts int
	// Backoff is the pause after the first failure; it doubles with every
	// further one, up to 30 times its start. 0 means one second.
	Backoff time.Duration
	// Stall is how long a transfer may stay silent before it counts as broken;
	// 0 means 30 seconds.
	Stall time.Duration
	// Progress, unless nil, is told of every file: once at its start with what
	// an earlier call left, then as bytes arrive, and at its end with
	// done == file.Size. done falls back when a server cannot resume.
	Progress func(file File, done int64)
	// Log receives retries and changes of source; nil discards them.
	Log *slog.Logger
}

// withDefaults fills in what is zero.
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

// Fetch downloads the files of the named set into the data directory dir,
// those that are there with the right checksums excepted. A set without files
// (synthetic) needs nothing.
//
// A file grows as FILE.part; a transfer that breaks off, or a call that was
// cancelled, goes on from there by an HTTP range request. The whole file is
// checked against the published checksums, synced, and only then renamed to
// FILE. Bytes that fail the check are deleted. A file that is published in a zip
// archive is taken out of it, and what is checked is the file; mirrors have the
// file itself. A user's own file (csv, libsvm) is ErrOption.
//
// Errors wrap ErrUnknownDataset, ErrMirror, ErrChecksum, ErrDownload, the
// context's error, or what the file system says.
func Fetch(ctx context.Context, dir, name string, opts FetchOptions) error {
	d, err := Lookup(name)
	if err != nil {
		return err
	}
	if d.Own {
		return fmt.Errorf("datasets: %w: %s is a file of yours: there is nothing to download", ErrOption, name)
	}
	for _, base := range opts.Mirrors {
		if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("datasets: %w %q; want a URL of http or https, with a host", ErrMirror, base)
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

// fetchFile makes one file right, from the first source that has it.
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
		return fmt.Errorf("datasets: %w; choose another data directory", err)
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
			return fmt.Errorf("datasets: %s: %w; run the same command again to go on", url, context.Cause(ctx))
		}
		opts.Log.Warn("source failed", "url", url, "error", err)
		if failures != nil {
			err = fmt.Errorf("%w; before it: %w", err, failures)
		}
		failures = err
	}
	return failures
}

// sources lists the URLs of a file.
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

// fetchFrom completes path + ".part" from one source, checks it and puts it in
// place. Bytes that an earlier call left may be of another file: when the check
// fails after resuming, it starts over once.
func fetchFrom(ctx context.Context, url, path string, file File, opts FetchOptions) error {
	part := path + ".part"
	info, err := os.Stat(part)
	resumed := err == nil && info.Size() > 0
	err = downloadChecked(ctx, url, part, file, opts)
	if resumed && errors.Is(err, ErrChecksum) {
		opts.Log.Warn("resumed download is wrong, starting over", "url", url, "error", err)
		err = downloadChecked(ctx, url, part, file, opts)
	}
	if err != nil {
		return err
	}
	return putInPlace(part, path)
}

// putInPlace gives a complete, synced file its name.
func putInPlace(part, path string) error {
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// downloadChecked completes part and compares it with what was published.
// Wrong bytes are deleted.
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
	return fmt.Errorf("datasets: %s: %w; the download was deleted: try again, or another mirror (%s)", url, err, EnvMirror)
}

// syncDir makes a rename durable, where directories can be synced at all.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	defer d.Close()
	_ = d.Sync() // some systems refuse it; the file itself is synced already
	return nil
}

// sums is what a file on disk is.
type sums struct {
	size        int64
	md5, sha256 string
}

// sumFile reads a whole file once for its size and checksums.
func sumFile(ctx context.Context, path string) (sums, error) {
	f, err := openFile(path)
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

// matches compares with what was published, as far as that is known.
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

// contextReader stops reading when its context is done.
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
