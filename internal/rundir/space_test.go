package rundir

import (
	"errors"
	"math"
	"syscall"
	"testing"
)

func TestCheckSpace(t *testing.T) {
	dir := Dir(t.TempDir())
	if err := dir.CheckSpace(1); err != nil {
		t.Error(err)
	}
	if _, known := available(string(dir)); !known {
		t.Skip("the free space is not known here")
	}
	if err := dir.CheckSpace(math.MaxInt64); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("no error for a file of all bytes: %v", err)
	}
}
