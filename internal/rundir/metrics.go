package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"ppal/internal/disk"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// Metrics writes metrics.jsonl, one JSON object and one line for each record. A record is in the
// file when Record returns.
type Metrics struct {
	file disk.Handle
	size int64     // of complete lines
	sum  hash.Hash // SHA-256 of complete lines
}

var _ trainer.Recorder = (*Metrics)(nil)

// CreateMetrics makes the file, which must not exist.
func CreateMetrics(path string) (*Metrics, error) { return openMetrics(path, os.O_CREATE|os.O_EXCL) }

// CreateMetrics opens the empty file of records in a directory that Create returned.
func (d Dir) CreateMetrics() (*Metrics, error) { return openMetrics(d.Metrics(), 0) }

func openMetrics(path string, flags int) (*Metrics, error) {
	f, err := disk.Local.OpenFile(path, flags|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	return &Metrics{file: f, sum: sha256.New()}, nil
}

// ResumeMetrics opens the file of records after its first size bytes. The caller calls Cut before
// the first record. sum is the SHA-256 of these bytes in hex; for a size of 0, sum does not count.
// The error wraps ErrRecords if the file does not begin with these bytes.
func (d Dir) ResumeMetrics(size int64, sum string) (*Metrics, error) {
	f, err := disk.OpenRegular(d.Metrics(), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	m := &Metrics{file: f, size: size, sum: sha256.New()}
	if n, err := io.CopyN(m.sum, f, size); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("rundir: %w", err), f.Close())
	} else if own := hex.EncodeToString(m.sum.Sum(nil)); n < size || size > 0 && own != sum {
		return nil, errors.Join(fmt.Errorf("rundir: %s: %w", d.Metrics(), ErrRecords), f.Close())
	}
	return m, nil
}

// Cut removes everything behind the records: the records after a checkpoint, and a line that a
// crash truncated.
func (m *Metrics) Cut() error {
	if err := m.file.Truncate(m.size); err != nil {
		return fmt.Errorf("rundir: %w", err)
	}
	return nil
}

// ErrRecords says that a file of records is not the file that the run wrote.
var ErrRecords = errors.New("the records before the checkpoint are missing or changed")

// Sync makes the records durable, and returns their size in bytes and their SHA-256 in hex.
func (m *Metrics) Sync() (size int64, sum string, err error) {
	if err := m.file.Sync(); err != nil {
		return 0, "", fmt.Errorf("rundir: %w", err)
	}
	return m.size, hex.EncodeToString(m.sum.Sum(nil)), nil
}

// Record implements trainer.Recorder. It returns a *problem.NonFiniteError if a number of the
// record is not finite, or the file system's error; in both cases it writes no part of the record.
func (m *Metrics) Record(r *trainer.Record) error {
	line, err := encode(r)
	if err != nil {
		return err
	}
	if _, err := m.file.Write(line); err != nil {
		_ = m.file.Truncate(m.size) // a write to a full disk may leave the beginning of a line
		return fmt.Errorf("rundir: %w", err)
	}
	m.size += int64(len(line))
	m.sum.Write(line)
	return nil
}

// Close closes the file.
func (m *Metrics) Close() error {
	if err := m.file.Close(); err != nil {
		return fmt.Errorf("rundir: %w", err)
	}
	return nil
}

// encode returns the record's line: its own keys, then the keys of the measures in alphabetical
// order.
func encode(r *trainer.Record) ([]byte, error) {
	for name, numbers := range numbersOf(r) {
		for _, x := range numbers {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, &problem.NonFiniteError{Term: name, Iteration: r.Iteration, Value: x}
			}
		}
	}
	line, err := json.Marshal((*record)(r))
	if err != nil {
		return nil, fmt.Errorf("rundir: the record of iteration %d: %w", r.Iteration, err)
	}
	line, err = appendNear(line[:len(line)-1], r) // without the closing brace
	if err != nil {
		return nil, fmt.Errorf("rundir: the near stationarity of iteration %d: %w", r.Iteration, err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Measures)) {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("rundir: the measure %q: %w", name, err)
		}
		value, err := json.Marshal(r.Measures[name])
		if err != nil {
			return nil, fmt.Errorf("rundir: the measure %q: %w", name, err)
		}
		line = append(append(append(append(line, ','), key...), ':'), value...)
	}
	return append(line, '}', '\n'), nil
}

// numbersOf returns the record's numbers by the name of their key.
func numbersOf(r *trainer.Record) map[string][]float64 {
	numbers := map[string][]float64{
		"objective": {r.Objective}, "constraints": r.Constraints, "feasibility": {r.Infeasibility, r.MaxViolation},
		"stationarity": {r.Stationarity}, "complementarity": {r.Complementarity},
		"multipliers": r.Multipliers, "auxiliary multipliers": r.Auxiliary, "slack": r.Slack,
	}
	for name, x := range map[string]*float64{"delta": r.Delta, "step size": r.StepSize} {
		if x != nil {
			numbers[name] = []float64{*x}
		}
	}
	for name, x := range r.Measures {
		numbers["measure "+name] = []float64{x}
	}
	return numbers
}

// ReadMetrics reads a metrics.jsonl. The errors are those of disk.ReadUpTo and ParseMetrics.
func ReadMetrics(path string) ([]trainer.Record, error) {
	data, err := disk.ReadUpTo(path, disk.MostRecords)
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	return ParseMetrics(path, data)
}

// ParseMetrics returns the records in the content of a metrics.jsonl. It ignores a last line that a
// crash truncated; other errors name the line.
func ParseMetrics(path string, data []byte) (records []trainer.Record, err error) {
	for n := 1; ; n++ {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			return records, nil
		}
		r, err := decode(data[:end])
		if err != nil {
			return nil, fmt.Errorf("rundir: %s:%d: %w", path, n, err)
		}
		records, data = append(records, r), data[end:]
	}
}

// lastBytes is the number of bytes at the end of a file in which LastRecord first looks for a line.
const lastBytes = 1 << 16

// LastRecord returns the last record of a metrics.jsonl, which may still grow; nil: it has none.
// LastRecord reads the end of the file alone, and ignores a last line without an end. Errors name
// the file.
func LastRecord(path string) (*trainer.Record, error) {
	file, err := disk.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size > disk.MostRecords {
		err = fmt.Errorf("%w: it has %d bytes", disk.ErrSize, size)
	}
	for most := int64(lastBytes); err == nil; most *= 2 {
		from := max(0, size-most)
		tail := make([]byte, size-from)
		n, failure := file.ReadAt(tail, from)
		if failure != nil && !errors.Is(failure, io.EOF) { // a run that resumes has cut the file
			err = failure
			break
		}
		lines := tail[:bytes.LastIndexByte(tail[:n], '\n')+1]
		start := bytes.LastIndexByte(bytes.TrimSuffix(lines, []byte{'\n'}), '\n') + 1
		switch {
		case start == 0 && from > 0: // the line begins earlier
			continue
		case len(lines) == 0:
			return nil, nil
		}
		var r trainer.Record
		if r, err = decode(lines[start:]); err == nil {
			return &r, nil
		}
	}
	return nil, fmt.Errorf("rundir: %s: %w", path, err)
}

func decode(line []byte) (trainer.Record, error) {
	var r trainer.Record
	if err := json.Unmarshal(line, (*record)(&r)); err != nil {
		return r, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return r, err
	}
	if err := readNear(&r, all); err != nil {
		return r, err
	}
	r.Measures = map[string]float64{}
	for name, value := range all {
		if !isMeasure(name) {
			continue
		}
		var x float64
		if err := json.Unmarshal(value, &x); err != nil {
			return r, err
		}
		r.Measures[name] = x
	}
	return r, nil
}

// isMeasure reports whether a record's key is the key of a measure.
func isMeasure(key string) bool {
	return slices.ContainsFunc(results.Splits(), func(s results.Split) bool { return strings.HasPrefix(key, results.MeasureKey(s, "")) })
}
