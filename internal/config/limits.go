package config

import (
	"errors"
	"strconv"
	"time"
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
