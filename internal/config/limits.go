package config

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"ppal/trainer/session"
)

// setTimeLimit reads time-limit.
func (r *Run) setTimeLimit(text string) error {
	if text != "none" {
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return errors.New("must be a positive duration such as 90s or 10m, or none")
		}
	}
	r.TimeLimit = text
	return nil
}

// automatic is the value of record-every that leaves the choice to the session.
const automatic = "auto"

// setRecordEvery reads record-every; 0 means automatic.
func (r *Run) setRecordEvery(text string) error {
	n := 0
	if text != automatic {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			return errors.New("must be a whole number, at least 1, or " + automatic)
		}
	}
	r.RecordEvery = n
	return nil
}

func (r *Run) recordEvery() string {
	if r.RecordEvery == 0 {
		return automatic
	}
	return strconv.Itoa(r.RecordEvery)
}

// units are the units of a size in bytes.
var units = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// setMemoryLimit reads memory-limit.
func (d *Device) setMemoryLimit(text string) error {
	switch text {
	case "auto":
		d.MemoryLimit = 0
		return nil
	case "none":
		d.MemoryLimit = session.NoMemoryLimit
		return nil
	}
	n, ok := sizeOf(text)
	if !ok {
		return errors.New("must be a size such as 3GB or 800MiB, auto or none")
	}
	d.MemoryLimit = n
	return nil
}

// leastMemory is the least value of memory: the program, its buffers and two windows of rows.
const leastMemory = 64 << 20

// setMemory reads memory.
func (d *Device) setMemory(text string) error {
	if text == "all" {
		d.Memory = 0
		return nil
	}
	n, ok := sizeOf(text)
	if !ok || n < leastMemory {
		return errors.New("must be a size of at least 64MiB, such as 2GiB, or all")
	}
	d.Memory = n
	return nil
}

// sizeOf reads a size in bytes.
func sizeOf(text string) (bytes int64, ok bool) {
	for _, u := range units {
		number, has := strings.CutSuffix(text, u.name)
		if !has {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(x*u.bytes >= 1 && x*u.bytes < 1<<62) {
			return 0, false
		}
		return int64(x * u.bytes), true
	}
	return 0, false
}
