package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"ppal/datasets/dataerr"
)

// maxBackoff is the largest pause between attempts, as a multiple of the first pause.
const maxBackoff = 30

// refusal is an error that a further attempt does not change, such as status 404.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// unknownSize is the size of a file without a published size. The download accepts the size that
// the server states, and starts again after a broken transfer.
const unknownSize = -1

// maxUnknown is the largest accepted size of a file of unknown size.
const maxUnknown = 1 << 28

// leastProgress is the number of new bytes with which a transfer does not count as failed: a server
// that sends a byte for each connection would never end.
const leastProgress = 1 << 10

// leastRate is the least rate of a transfer over the time FetchOptions.Stall, in bytes per second.
const leastRate = 1 << 10

// moreAttempts is the number of further attempts for a server that says that it is busy.
const moreAttempts = 3

// maxRetryAfter is the longest pause that a server can ask for.
const maxRetryAfter = 5 * time.Minute

// busy is the answer of a server that may have the file later.
type busy struct {
	error
	after time.Duration // the pause that the server asks for; 0: none
}

func (b busy) Unwrap() error { return b.error }

// openPart opens the partial file at path, or makes it. It refuses links and other files that are
// not regular, because a download must not write into a file elsewhere.
func openPart(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	// another program may have made a link between the two calls
	opened, err := f.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Lstat(path); err == nil && !os.SameFile(opened, named) {
			err = notRegular(path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// download downloads file.Size bytes from url to part, in as many transfers as necessary. The
// caller checks the bytes and syncs the file. A failed transfer counts against opts.Attempts unless
// it delivered leastProgress new bytes. An empty partial file is removed.
func download(ctx context.Context, url, part string, file File, opts FetchOptions) (err error) {
	f, err := openPart(part)
	if err != nil {
		return err
	}
	t := transfer{url: url, f: f, size: file.Size, file: file, opts: opts}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("datasets: %w", closeErr)
		}
		if err != nil && t.have == 0 {
			_ = os.Remove(part)
		}
	}()
	if t.have, err = f.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	if t.have > file.Size { // the bytes are not known to belong to this file
		if err := t.restart(); err != nil {
			return err
		}
	}
	opts.Progress(file, t.have)
	best, failed, pause := t.have, 0, opts.Backoff
	for t.have != t.size {
		err := t.run(ctx)
		if err == nil {
			continue
		}
		var final refusal
		switch {
		case errors.Is(err, dataerr.ErrChecksum):
			return err
		case ctx.Err() != nil || errors.As(err, &final):
			return fmt.Errorf("datasets: %s: %w", shown(url), err)
		}
		failed++
		if t.have >= best+leastProgress {
			failed, pause = 0, opts.Backoff
		}
		best = max(best, t.have)
		attempts, wait := opts.Attempts, pause
		var later busy
		if errors.As(err, &later) {
			attempts, wait = attempts+moreAttempts, max(pause, min(later.after, maxRetryAfter))
		}
		if failed >= attempts {
			return fmt.Errorf("datasets: %s: %w after %d of %s bytes: %w; repeat the command to continue, or use another mirror (%s)",
				shown(url), dataerr.ErrDownload, t.have, t.expected(), err, EnvMirror)
		}
		opts.Log.Info("transfer failed, trying again", "url", shown(url), "bytes", t.have, "pause", wait, "error", err)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		pause = min(2*pause, maxBackoff*opts.Backoff)
	}
	return nil
}

// transfer is a partial file and its source.
type transfer struct {
	url  string
	f    *os.File
	have int64 // bytes in f
	size int64 // size of the whole file; unknownSize until a server states it
	file File
	opts FetchOptions
}

// expected returns the size of the whole file as text.
func (t *transfer) expected() string {
	if t.size == unknownSize {
		return "unknown"
	}
	return strconv.FormatInt(t.size, 10)
}

// run makes one request for the missing bytes and appends what arrives. It returns nil only when
// the file is complete.
func (t *transfer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	least := max(1, int64(leastRate*t.opts.Stall.Seconds()))
	stalled := time.AfterFunc(t.opts.Stall, func() {
		cancel(fmt.Errorf("less than %d bytes in %v", least, t.opts.Stall))
	})
	defer stalled.Stop()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return refusal{fmt.Errorf("%w: %w", dataerr.ErrDownload, err)}
	}
	// Automatic decompression would hide the bytes that the checksum covers.
	request.Header.Set("Accept-Encoding", "identity")
	if t.file.Size == unknownSize {
		if err := t.restart(); err != nil {
			return err
		}
	}
	if t.have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.have))
	}
	response, err := t.opts.Client.Do(request)
	if err != nil {
		return because(ctx, refused(err))
	}
	defer response.Body.Close()
	if err := t.accept(response); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for recent := int64(0); ; { // recent is the number of bytes since the last reset
		n, readErr := response.Body.Read(buf)
		if recent += int64(n); recent >= least {
			recent = 0
			stalled.Reset(t.opts.Stall)
		}
		if most := t.most(); t.have+int64(n) > most {
			return fmt.Errorf("%w: expected %d bytes, got more", dataerr.ErrChecksum, most)
		}
		if _, err := t.f.Write(buf[:n]); err != nil {
			return refusal{err}
		}
		t.have += int64(n)
		t.opts.Progress(t.file, t.have)
		switch {
		case readErr != nil && t.have == t.size:
			return nil // all bytes arrived before the error
		case readErr == io.EOF && t.size == unknownSize:
			t.size = t.have
			return nil
		case readErr == io.EOF:
			return io.ErrUnexpectedEOF
		case readErr != nil:
			return because(ctx, readErr)
		}
	}
}

// most returns the largest number of bytes to accept.
func (t *transfer) most() int64 {
	if t.size == unknownSize {
		return maxUnknown
	}
	return t.size
}

// accept decides from the status where the body is written: after the present bytes (206), or from
// the start (200: the server cannot resume). If the server states a length other than the published
// length, the server has a different file, and accept keeps no bytes.
func (t *transfer) accept(response *http.Response) error {
	switch code := response.StatusCode; {
	case code == http.StatusPartialContent:
		want := fmt.Sprintf("bytes %d-%d/%d", t.have, t.file.Size-1, t.file.Size)
		if got := response.Header.Get("Content-Range"); got != want {
			return t.startOver(fmt.Errorf("server sends %q instead of %q", got, want))
		}
		return nil
	case code == http.StatusOK:
		n, want := response.ContentLength, strconv.FormatInt(t.file.Size, 10)
		switch {
		case t.file.Size == unknownSize && n <= maxUnknown:
			t.size = n // -1 if the server does not state it
			return nil
		case t.file.Size == unknownSize:
			want = fmt.Sprintf("at most %d", maxUnknown)
		case n < 0 || n == t.file.Size:
			return t.restart()
		}
		return refusal{fmt.Errorf("%w: expected %s bytes, the server states %d; use another mirror (%s)", dataerr.ErrDownload, want, n, EnvMirror)}
	case code == http.StatusRequestedRangeNotSatisfiable:
		return t.startOver(answered(code))
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return busy{answered(code), retryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
	return refusal{fmt.Errorf("%w: %w; use another mirror (%s)", dataerr.ErrDownload, answered(response.StatusCode), EnvMirror)}
}

// answered is the error of a status. It has the standard text, because a server can put control
// characters into its own text.
func answered(code int) error {
	return fmt.Errorf("server answers %s", strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code))))
}

// retryAfter returns the pause in the header Retry-After, which holds seconds or a time; 0 if it
// holds neither.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// errRedirect is the error of a redirect that is not followed.
var errRedirect = errors.New("redirect refused")

// maxRedirects is the largest number of redirects of a request.
const maxRedirects = 10

// redirecting returns the client with a limit on redirects: at most maxRedirects, and only to http
// and https. A client with its own rule keeps that rule.
func redirecting(c *http.Client) *http.Client {
	if c.CheckRedirect != nil {
		return c
	}
	limited := *c
	limited.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if len(before) >= maxRedirects {
			return fmt.Errorf("%w: more than %d redirects", errRedirect, maxRedirects)
		}
		if next.URL.Scheme != "http" && next.URL.Scheme != "https" {
			return fmt.Errorf("%w: to the scheme %q", errRedirect, next.URL.Scheme)
		}
		return nil
	}
	return &limited
}

// refused marks an error of a request that a further attempt does not change: a refused redirect,
// or a host that does not exist. It hides the user in the error's URL.
func refused(err error) error {
	if failed, ok := err.(*url.Error); ok {
		failed.URL = shown(failed.URL)
	}
	var host *net.DNSError
	if errors.Is(err, errRedirect) || errors.As(err, &host) && host.IsNotFound {
		return refusal{fmt.Errorf("%w: %w; use another mirror (%s)", dataerr.ErrDownload, err, EnvMirror)}
	}
	return err
}

// shown returns a URL for messages, without the name and the password of a user.
func shown(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		if _, rest, found := strings.Cut(text, "@"); found {
			return "...@" + rest
		}
		return text
	}
	if u.User == nil {
		return text
	}
	u.User = url.User("...")
	return u.String()
}

// startOver empties the partial file, so that the next attempt requests the whole file, and returns
// the reason.
func (t *transfer) startOver(reason error) error {
	if err := t.restart(); err != nil {
		return err
	}
	return reason
}

// restart deletes the bytes in the partial file.
func (t *transfer) restart() error {
	t.have = 0
	if err := t.f.Truncate(0); err != nil {
		return refusal{err}
	}
	if _, err := t.f.Seek(0, io.SeekStart); err != nil {
		return refusal{err}
	}
	return nil
}

// because returns the cause of ctx's cancellation if ctx is cancelled, otherwise err.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
