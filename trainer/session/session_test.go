package session

import (
	"context"
	"errors"
	"testing"
)

// An interrupt while the data load ends the session.
func TestNewInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, small(nil).options()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
