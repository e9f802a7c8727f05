package safetensors

import (
	"errors"
	"fmt"
)

// The kinds of errors. A [FormatError] wraps one of them.
var (
	errTruncated = errors.New("file ends too early")
	errHeader    = errors.New("invalid header")
	errDtype     = errors.New("unsupported element type")
	errLayout    = errors.New("invalid data layout")
)

// FormatError describes an error in a file and its position.
type FormatError struct {
	Offset int64  // bytes from the file's start
	Tensor string // the tensor with the error; empty if no tensor is involved
	Detail string
	Err    error // errTruncated, errHeader, errDtype or errLayout
}

// Error returns a message of one line.
func (e *FormatError) Error() string {
	if e.Tensor != "" {
		return fmt.Sprintf("safetensors: byte %d: tensor %q: %v: %s", e.Offset, e.Tensor, e.Err, e.Detail)
	}
	return fmt.Sprintf("safetensors: byte %d: %v: %s", e.Offset, e.Err, e.Detail)
}

// Unwrap returns the kind of error.
func (e *FormatError) Unwrap() error { return e.Err }
