package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
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

// download downloads file.Size bytes from url to part, in as many transfers as necessary, and syncs
// the file. The caller checks the bytes. A failed transfer counts against opts.Attempts only if it
// delivered no new bytes.
func download(ctx context.Context, url, part string, file File, opts FetchOptions) (err error) {
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("datasets: %w", closeErr)
		}
	}()
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	t := transfer{url: url, f: f, have: have, size: file.Size, file: file, opts: opts}
	if have > file.Size { // the bytes are not known to belong to this file
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
		case errors.Is(err, ErrChecksum):
			return err
		case ctx.Err() != nil || errors.As(err, &final):
			return fmt.Errorf("datasets: %s: %w", url, err)
		}
		failed++
		if t.have > best {
			best, failed, pause = t.have, 0, opts.Backoff
		}
		if failed >= opts.Attempts {
			return fmt.Errorf("datasets: %s: %w after %d of %s bytes: %w; repeat the command to continue, or use another mirror (%s)",
				url, ErrDownload, t.have, t.expected(), err, EnvMirror)
		}
		opts.Log.Info("transfer failed, trying again", "url", url, "bytes", t.have, "pause", pause, "error", err)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, maxBackoff*opts.Backoff)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("datasets: %w", err)
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
	stalled := time.AfterFunc(t.opts.Stall, func() {
		cancel(fmt.Errorf("no data for %v", t.opts.Stall))
	})
	defer stalled.Stop()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return refusal{fmt.Errorf("%w: %w", ErrDownload, err)}
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
		return because(ctx, err)
	}
	defer response.Body.Close()
	if err := t.accept(response); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for {
		n, readErr := response.Body.Read(buf)
		stalled.Reset(t.opts.Stall)
		if most := t.most(); t.have+int64(n) > most {
			return fmt.Errorf("%w: expected %d bytes, got more", ErrChecksum, most)
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
		n := response.ContentLength
		if t.file.Size == unknownSize && n <= maxUnknown {
			t.size = n // -1 if the server does not state it
			return nil
		}
		if n >= 0 && n != t.file.Size {
			return refusal{fmt.Errorf("%w: expected %d bytes, the server states %d; use another mirror (%s)",
				ErrDownload, t.file.Size, n, EnvMirror)}
		}
		return t.restart()
	case code == http.StatusRequestedRangeNotSatisfiable:
		return t.startOver(fmt.Errorf("server answers %s", response.Status))
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return fmt.Errorf("server answers %s", response.Status)
	}
	return refusal{fmt.Errorf("%w: server answers %s; use another mirror (%s)", ErrDownload, response.Status, EnvMirror)}
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
