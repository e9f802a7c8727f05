package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"ppal/internal/disk"
)

// Journal is a Store in a file with a line of JSON for each record, in the order in which the jobs
// ended. A record is on the disk when Add returns.
type Journal[T any] struct {
	// Plain is true if Add writes the characters <, > and & as they are, and not as escapes.
	Plain bool

	path    string
	mu      sync.Mutex
	size    int64          // length of the file
	at      map[string]int // position in records
	records []T
}

// OpenJournal reads the journal of an earlier, possibly interrupted study; a journal without a file
// is empty, and a journal without a path stays in memory. It removes the end of a line that the
// interruption cut off. key returns the key of a record, or an error that says why a line is no
// record of the study. Errors name the line.
func OpenJournal[T any](path string, key func(T) (string, error)) (*Journal[T], error) {
	j := &Journal[T]{path: path, at: map[string]int{}}
	records, size, err := readJournal(path, func(record T) error {
		k, err := key(record)
		if err == nil {
			j.keep(k, record)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	j.size = records
	if records < size {
		if err := os.Truncate(path, records); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// ReadJournal calls keep with the records of the journal in a file, and changes nothing.
func ReadJournal[T any](path string, keep func(T) error) error {
	_, _, err := readJournal(path, keep)
	return err
}

// readJournal calls keep with the records. It returns the length of the complete lines and the
// length of the file.
func readJournal[T any](path string, keep func(T) error) (complete, size int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	lines := data[:bytes.LastIndexByte(data, '\n')+1]
	line := 0
	for text := range bytes.Lines(lines) {
		line++
		var record T
		err := json.Unmarshal(text, &record)
		if err == nil {
			err = keep(record)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s:%d: %w; remove the file to measure again", path, line, err)
		}
	}
	return int64(len(lines)), int64(len(data)), nil
}

// keep adds a record in memory. The record replaces an earlier record with the same key.
func (j *Journal[T]) keep(key string, record T) {
	if i, ok := j.at[key]; ok {
		j.records[i] = record
		return
	}
	j.at[key] = len(j.records)
	j.records = append(j.records, record)
}

// Find implements Store.
func (j *Journal[T]) Find(key string) (record T, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.at[key]
	if !ok {
		return record, false
	}
	return j.records[i], true
}

// Records returns all records, also those of earlier studies in the same file. The caller does not
// change the slice.
func (j *Journal[T]) Records() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.records[:len(j.records):len(j.records)]
}

// Add implements Store.
func (j *Journal[T]) Add(key string, record T) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(!j.Plain)
	if err := encoder.Encode(record); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.path == "" {
		j.keep(key, record)
		return nil
	}
	if err := j.append(line.Bytes()); err != nil {
		return err
	}
	j.size += int64(line.Len())
	j.keep(key, record)
	return nil
}

// append writes a line and waits until the disk has it. After an error, the file has its old
// length.
func (j *Journal[T]) append(line []byte) error {
	if j.size == 0 { // also waits for the name of the file
		return disk.Write(j.path, line, 0o644)
	}
	file, err := disk.Local.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		err = errors.Join(err, file.Truncate(j.size))
	}
	_ = file.Close() // after Sync it changes nothing
	return err
}
