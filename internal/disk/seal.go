package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// The names of the files that have checksums of other files.
const (
	modelName   = "model.json"
	SummaryName = "summary.json"
)

// Sum returns the SHA-256 of the data, in hex.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SumFile returns the SHA-256 of a file of a run, in hex, without its content in memory. The errors
// are those of Read.
func SumFile(path string) (string, error) {
	f, size, err := openUpTo(path, limitOf(path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.CopyN(sum, f, size); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// BlankSum stands for the checksum of a text in the text itself while the checksum is computed.
var BlankSum = strings.Repeat("0", 2*sha256.Size)

// Seal computes the SHA-256 of a JSON text whose key "checksum" is Blank, and writes it in place
// of the last Blank.
func Seal(mostText []byte) (sum string) {
	sum = Sum(mostText)
	copy(mostText[bytes.LastIndex(mostText, []byte(BlankSum)):], sum)
	return sum
}

// Sums are the checksums of files, as one of the files states them.
type Sums struct {
	by    string            // the name of that file
	files map[string]string // SHA-256 in hex, by name
}

// SumsOf returns the checksums that the JSON text of the file at path states in the object "files".
// closed is false for a text without a checksum of its own, which an earlier version of ppal wrote.
// The error wraps ErrChanged if the text has another checksum than it states. A text that is not
// JSON gives the error of its parser.
func SumsOf(path string, mostText []byte) (s Sums, closed bool, err error) {
	var head struct {
		Files    map[string]string `json:"files"`
		Checksum *string           `json:"checksum"`
	}
	if err := json.Unmarshal(mostText, &head); err != nil {
		return s, false, err
	}
	s = Sums{filepath.Base(path), head.Files}
	if head.Checksum == nil {
		if head.Files != nil {
			return s, false, fmt.Errorf("%s: %w: it has checksums of files and none of its own", path, ErrChanged)
		}
		return s, false, nil
	}
	if at := bytes.LastIndex(mostText, []byte(*head.Checksum)); at >= 0 && len(*head.Checksum) == len(BlankSum) {
		blank := bytes.Clone(mostText)
		copy(blank[at:], BlankSum)
		if Sum(blank) == *head.Checksum {
			return s, true, nil
		}
	}
	return s, true, fmt.Errorf("%s: %w: its checksum does not match; copy the run's directory again", path, ErrChanged)
}

// Has reports whether the sums have the checksum of the file at path.
func (s Sums) Has(path string) bool { return s.files[filepath.Base(path)] != "" }

// Check returns an error that wraps ErrChanged if the sums have another checksum of the file at
// path. A file without a checksum has no error.
func (s Sums) Check(path string, data []byte) error {
	if s.Has(path) && s.files[filepath.Base(path)] != Sum(data) {
		return fmt.Errorf("%s: %w: its checksum is not the one in %s; copy the run's directory again", path, ErrChanged, s.by)
	}
	return nil
}

// ReadBeside reads a file of weights. If a model.json or a summary.json in the same directory has a
// checksum of the file, ReadBeside compares it. The errors are those of Read, SumsOf and Check.
func ReadBeside(path string) ([]byte, error) {
	data, err := ReadUpTo(path, MostWeights)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{modelName, SummaryName} {
		beside := filepath.Join(filepath.Dir(path), name)
		mostText, err := Read(beside)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s, _, err := SumsOf(beside, mostText)
		switch {
		case errors.Is(err, ErrChanged):
			return nil, err
		case err == nil && s.Has(path):
			return data, s.Check(path, data)
		}
	}
	return data, nil
}
