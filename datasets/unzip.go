package datasets

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"ppal/datasets/dataerr"
)

// fetchZipped does the work of fetchFrom for a file in the zip archive at url. The file has a
// published checksum and size; the archive has neither.
func fetchZipped(ctx context.Context, url, path string, file File, opts FetchOptions) error {
	archive := path + ".zip.part"
	progress := opts.Progress
	opts.Progress = func(_ File, done int64) { progress(file, min(done, file.Size-1)) }
	if err := download(ctx, url, archive, File{Path: file.Path, Size: unknownSize}, opts); err != nil {
		return err
	}
	part := path + ".part"
	err := unzip(archive, part, file)
	if err == nil {
		err = checkSums(ctx, part, file)
	}
	if ctx.Err() != nil {
		return err
	}
	if err := os.Remove(archive); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	if err != nil {
		_ = os.Remove(part) // there is none if the archive is broken
	}
	if errors.Is(err, dataerr.ErrFormat) || errors.Is(err, dataerr.ErrChecksum) {
		return fmt.Errorf("datasets: %s: %w; the download was deleted: repeat the command, or use a mirror (%s)", shown(url), err, EnvMirror)
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	progress(file, file.Size)
	return putInPlace(part, path)
}

// unzip extracts the file from the archive to path. It writes at most one byte more than the file's
// published size. The error wraps ErrFormat, or is the file system's.
func unzip(archive, path string, file File) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("%w: %w", dataerr.ErrFormat, err)
	}
	defer r.Close()
	member, err := r.Open(file.Zipped)
	if err != nil {
		return fmt.Errorf("%w: the archive has no %s", dataerr.ErrFormat, file.Zipped)
	}
	defer member.Close()
	out, err := openPart(path)
	if err != nil {
		return err
	}
	if err := out.Truncate(0); err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = io.Copy(out, io.LimitReader(member, file.Size+1))
	if disk := (*fs.PathError)(nil); err != nil && !(errors.As(err, &disk) && disk.Path == path) {
		err = fmt.Errorf("%w: %s: %w", dataerr.ErrFormat, file.Zipped, err)
	}
	return errors.Join(err, out.Close())
}
