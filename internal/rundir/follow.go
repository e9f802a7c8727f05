package rundir

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"ppal/internal/seal"
	"ppal/trainer"
)

// Follower reads the records of a run that is still going on.
type Follower struct {
	path    string
	size    int64 // of the lines that Records has read
	records []trainer.Record
}

// Follow returns a Follower of the directory's records.
func (d Dir) Follow() *Follower { return &Follower{path: d.Metrics()} }

// Records reads the lines that the file has got since the last call, and returns all records. It
// ignores a last line without an end. A run that resumes removes the records after its checkpoint:
// Records then reads the file from the start. Errors name the file.
func (f *Follower) Records() ([]trainer.Record, error) {
	file, err := seal.Open(f.path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	if info.Size() > seal.Records {
		return nil, fmt.Errorf("rundir: %s: %w: it has %d bytes", f.path, seal.ErrSize, info.Size())
	}
	if info.Size() < f.size {
		f.restart()
	}
	if info.Size() == f.size {
		return f.records, nil
	}
	err = f.read(file)
	if err != nil && f.size > 0 { // other lines may stand there now
		f.restart()
		err = f.read(file)
	}
	if err != nil {
		return nil, fmt.Errorf("rundir: %s: %w", f.path, err)
	}
	return f.records, nil
}

// restart forgets the records.
func (f *Follower) restart() { f.size, f.records = 0, nil }

// read reads the complete lines after the first size bytes.
func (f *Follower) read(file io.ReadSeeker) error {
	if _, err := file.Seek(f.size, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(file, seal.Records))
	if err != nil {
		return err
	}
	for {
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 {
			return nil
		}
		r, err := decode(data[:n])
		if err != nil {
			return err
		}
		if k := len(f.records); k > 0 && r.Iteration <= f.records[k-1].Iteration {
			return fmt.Errorf("iteration %d follows iteration %d", r.Iteration, f.records[k-1].Iteration)
		}
		f.records, f.size, data = append(f.records, r), f.size+int64(n), data[n:]
	}
}
