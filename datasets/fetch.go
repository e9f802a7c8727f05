package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"ppal/datasets/dataerr"
	"ppal/internal/disk"
	"ppal/internal/recordio"
)

// FetchOptions configures a download. The zero value is ready to use.
type FetchOptions struct {
	// Client sends the requests; nil is http.DefaultClient.
	Client *http.Client
	// Mirrors are base URLs (see Mirrors) that replace the original sources, tried in this order.
	Mirrors []string
	// Attempts is the number of consecutive failed transfers, each with fewer than 1 KiB of new
	// bytes, after which a source is given up; 0 is 5. A server that says that it is busy (status
	// 429 or 5xx) gets 3 more attempts.
	Attempts int
	// Backoff is the pause after the first failure. It doubles with every further failure, up to 30
	// times the first pause. A server's Retry-After makes a pause longer, up to 5 minutes. 0 is one
	// second.
	Backoff time.Duration
	// Stall is the time after which a transfer counts as failed if it delivered less than 1 KiB for
	// each second of this time; 0 is 30 seconds.
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
	o.Client = redirecting(o.Client)
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
// hold the extracted file. For a user's own file (csv, libsvm) the error is ErrOption. While Fetch
// downloads a file, it locks the file's folder; another process waits, and then finds the file.
//
// Errors wrap ErrUnknownDataset, ErrMirror, ErrChecksum, ErrDownload, the context's error, or an
// error of the file system.
func Fetch(ctx context.Context, dir, name string, opts FetchOptions) error {
	d, err := Lookup(name)
	if err != nil {
		return err
	}
	if d.Own {
		return fmt.Errorf("datasets: %w: %s is your own file: there is nothing to download", dataerr.ErrOption, name)
	}
	if d.Page != "" && len(opts.Mirrors) == 0 {
		return fmt.Errorf("datasets: %w: ppal cannot download %s: get %s and the other files by hand from %s, and put them into %s", dataerr.ErrOption, name, d.Files[0].Path, d.Page, dir)
	}
	for _, base := range opts.Mirrors {
		if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("datasets: %w %q; want an http or https URL with a host", dataerr.ErrMirror, shown(base))
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
func fetchFile(ctx context.Context, dir string, file File, opts FetchOptions) (err error) {
	path := filepath.Join(dir, filepath.FromSlash(file.Path))
	if done, err := complete(ctx, path, file, opts); done || err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("datasets: %w; use another data directory (--data-dir)", err)
	}
	lock, err := lockFolder(ctx, filepath.Dir(path), opts.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if done, err := complete(ctx, path, file, opts); done || err != nil { // by another process
		return err
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
			return fmt.Errorf("datasets: %s: %w; repeat the command to continue", shown(url), context.Cause(ctx))
		}
		opts.Log.Warn("source failed", "url", shown(url), "error", err)
		if failures != nil {
			err = fmt.Errorf("%w; before: %w", err, failures)
		}
		failures = err
	}
	return failures
}

// complete reports whether the file at path is the published file.
func complete(ctx context.Context, path string, file File, opts FetchOptions) (bool, error) {
	found, err := sumRegular(ctx, path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case found.matches(file) != nil:
		return false, nil
	}
	opts.Progress(file, file.Size)
	return true, nil
}

// lockPoll is the time between two attempts to lock a folder.
const lockPoll = 100 * time.Millisecond

// lockFolder locks the folder of a file. If another process holds the lock, lockFolder waits.
func lockFolder(ctx context.Context, dir string, log *slog.Logger) (*disk.Lock, error) {
	for told := false; ; told = true {
		lock, err := disk.LockFolder(dir)
		if !errors.Is(err, disk.ErrHeld) {
			if err != nil {
				err = fmt.Errorf("datasets: %w", err)
			}
			return lock, err
		}
		if !told {
			log.Info("another process downloads into the same folder; waiting", "folder", dir)
		}
		if err := sleep(ctx, lockPoll); err != nil {
			return nil, fmt.Errorf("datasets: %w", err)
		}
	}
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
	if resumed && errors.Is(err, dataerr.ErrChecksum) {
		opts.Log.Warn("resumed download has the wrong checksum, starting again", "url", shown(url), "error", err)
		err = downloadChecked(ctx, url, part, file, opts)
	}
	if err != nil {
		return err
	}
	return putInPlace(part, path)
}

// putInPlace syncs a complete file, renames it and syncs the folder.
func putInPlace(part, path string) error {
	if err := disk.Move(part, path); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

// downloadChecked completes part and compares it with the published file. It deletes wrong bytes.
func downloadChecked(ctx context.Context, url, part string, file File, opts FetchOptions) error {
	err := download(ctx, url, part, file, opts)
	if err == nil {
		err = checkSums(ctx, part, file)
	}
	if !errors.Is(err, dataerr.ErrChecksum) {
		return err
	}
	if rmErr := os.Remove(part); rmErr != nil {
		return fmt.Errorf("datasets: %w", rmErr)
	}
	return fmt.Errorf("datasets: %s: %w; the download was deleted: repeat the command, or use another mirror (%s)", shown(url), err, EnvMirror)
}

// checkSums compares the file at path with the published size and checksum.
func checkSums(ctx context.Context, path string, file File) error {
	found, err := sumFile(ctx, path)
	if err != nil {
		return err
	}
	return found.matches(file)
}

// sums holds the size and the checksum of a file on disk.
type sums struct {
	size   int64
	sha256 string // in hexadecimal
}

// sumRegular calls sumFile on a regular file, or on a link to a regular file. Other files, such as
// a pipe, are an error: reading them may never end.
func sumRegular(ctx context.Context, path string) (sums, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return sums{}, notRegular(path)
	}
	return sumFile(ctx, path)
}

// notRegular is the error of a path that is not a regular file.
func notRegular(path string) error {
	return &dataerr.FileError{Path: path, Offset: -1, Err: fmt.Errorf("%w: it is not a regular file; remove it", dataerr.ErrFormat)}
}

// sumFile reads a file once for its size and its checksum.
func sumFile(ctx context.Context, path string) (sums, error) {
	f, err := recordio.OpenInput(ctx, path)
	if err != nil {
		return sums{}, err
	}
	defer f.Close()
	s := sha256.New()
	n, err := io.Copy(s, recordio.ContextReader{Ctx: ctx, R: f})
	if err != nil {
		return sums{}, recordio.FileError(path, err)
	}
	return sums{size: n, sha256: hex.EncodeToString(s.Sum(nil))}, nil
}

// published reports whether the file's size and checksum are known.
func (f File) published() bool { return f.Size > 0 }

// matches compares the sums of sumFile for the file with the published values that are known.
func (s sums) matches(file File) error {
	switch {
	case !file.published():
		return nil
	case s.size != file.Size:
		return fmt.Errorf("%w: expected %d bytes, got %d", dataerr.ErrChecksum, file.Size, s.size)
	case file.SHA256 != "" && s.sha256 != file.SHA256:
		return fmt.Errorf("%w: expected sha256 %s, got %s", dataerr.ErrChecksum, file.SHA256, s.sha256)
	}
	return nil
}
