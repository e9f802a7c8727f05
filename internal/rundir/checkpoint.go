package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppal/internal/safetensors"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// CheckpointVersion is the version of the format. A change of the names or the meaning of any part
// of a state raises the version.
const CheckpointVersion = 11

// ReadCheckpoint returns errors that wrap one of these errors. The error's text has the reason.
var (
	ErrNoCheckpoint      = errors.New("no checkpoint")
	ErrDamagedCheckpoint = errors.New("damaged checkpoint")
	ErrCheckpointVersion = errors.New("checkpoint of another version")
)

// Checkpoint is the state of a run before an iteration: everything that another process needs to
// continue the run to the same bits.
//
// A checkpoint is a safetensors file. Its tensors are the numbers and vectors of a trainer.State.
// The metadata hold the rest, the version of the format, and a checksum of the whole file.
type Checkpoint struct {
	// Program is the version of the program. Another version may compute other bits.
	Program string
	// Config is the SHA-256 of the run's config.yaml, in hex.
	Config string
	// Records is the part of metrics.jsonl before the checkpoint.
	Records RecordPrefix
	// Warnings are the warnings of the run before the checkpoint, encoded.
	Warnings []string
	// Spent is the wall time of the run before the checkpoint.
	Spent time.Duration
	// At has the iteration of the iterate and the count of gradients.
	At problem.Point
	// State is the state of the training.
	State *trainer.State
	// Damaged says that the last checkpoint is damaged or missing, and that this is the one before.
	Damaged bool
}

// RecordPrefix identifies the beginning of a file.
type RecordPrefix struct {
	Bytes  int64
	SHA256 string // in hex
}

// The names in the file.
const (
	numbersPrefix = "numbers."
	vectorsPrefix = "vectors."

	keyFormat, format = "format", "ppal checkpoint"
	keyVersion        = "version"
	keyProgram        = "program"
	keyConfig         = "config"
	keyRecords        = "records"
	keyRecordsSum     = "records_sha256"
	keyWarnings       = "warnings"
	keySpent          = "spent"
	keyIteration      = "iteration"
	keyGradients      = "gradient_evaluations"
	keyMethod         = "method"
	keyTexts          = "texts"
	keySum            = "sha256"
)

// encodeCheckpoint returns the bytes of the file.
func encodeCheckpoint(c *Checkpoint) ([]byte, error) {
	warnings, err := json.Marshal(c.Warnings)
	if err != nil {
		return nil, err
	}
	texts, err := json.Marshal(c.State.Texts)
	if err != nil {
		return nil, err
	}
	f := safetensors.File{Metadata: map[string]string{
		keyFormat: format, keyVersion: strconv.Itoa(CheckpointVersion), keyProgram: c.Program, keyConfig: c.Config,
		keyRecords: strconv.FormatInt(c.Records.Bytes, 10), keyRecordsSum: c.Records.SHA256,
		keyWarnings: string(warnings), keySpent: strconv.FormatInt(int64(c.Spent), 10), keyIteration: strconv.Itoa(c.At.Iteration),
		keyGradients: strconv.Itoa(c.At.GradientEvaluations), keyMethod: c.State.Method, keyTexts: string(texts),
	}}
	for prefix, list := range map[string]map[string][]float64{numbersPrefix: c.State.Numbers, vectorsPrefix: c.State.Vectors} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			x := list[name]
			f.Tensors = append(f.Tensors, safetensors.New(prefix+name, narrowest(x), []int{len(x)}, x))
		}
	}
	if f.Metadata[keySum], err = stateSum(f); err != nil {
		return nil, err
	}
	return marshalState(f)
}

// narrowest returns the type that holds the numbers exactly: the vectors of a run in float32 need
// half of the space.
func narrowest(x []float64) safetensors.Dtype {
	for _, v := range x {
		if math.Float64bits(float64(float32(v))) != math.Float64bits(v) {
			return safetensors.F64
		}
	}
	return safetensors.F32
}

// stateSum returns the SHA-256 of the file without its checksum, in hex.
func stateSum(f safetensors.File) (string, error) {
	f.Metadata = maps.Clone(f.Metadata)
	delete(f.Metadata, keySum)
	data, err := marshalState(f)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:]), nil
}

// marshalState returns the bytes of a safetensors file.
func marshalState(f safetensors.File) ([]byte, error) {
	var b bytes.Buffer
	err := safetensors.Write(&b, f)
	return b.Bytes(), err
}

// decodeCheckpoint reads the bytes of a file. The error wraps ErrDamaged or ErrVersion.
func decodeCheckpoint(data []byte) (*Checkpoint, error) {
	f, err := safetensors.Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamagedCheckpoint, err)
	}
	m := f.Metadata
	if m[keyFormat] != format {
		return nil, fmt.Errorf("%w: the file is not a checkpoint of ppal", ErrDamagedCheckpoint)
	}
	if v := m[keyVersion]; v != strconv.Itoa(CheckpointVersion) {
		return nil, fmt.Errorf("%w: the format has the version %.20q, this program reads %d", ErrCheckpointVersion, v, CheckpointVersion)
	}
	if own, err := stateSum(f); err != nil || own != m[keySum] {
		return nil, fmt.Errorf("%w: the checksum does not match the contents", ErrDamagedCheckpoint)
	}
	// The checksum matches, so the next checks fail only for a file that another program wrote.
	c := &Checkpoint{Program: m[keyProgram], Config: m[keyConfig], Records: RecordPrefix{SHA256: m[keyRecordsSum]},
		State: &trainer.State{Method: m[keyMethod], Numbers: map[string][]float64{}, Vectors: map[string][]float64{}}}
	spent, err1 := strconv.ParseInt(m[keySpent], 10, 64)
	bytes, err2 := strconv.ParseInt(m[keyRecords], 10, 64)
	iteration, err3 := strconv.Atoi(m[keyIteration])
	gradients, err4 := strconv.Atoi(m[keyGradients])
	err = errors.Join(err1, err2, err3, err4, json.Unmarshal([]byte(m[keyWarnings]), &c.Warnings), json.Unmarshal([]byte(m[keyTexts]), &c.State.Texts))
	if err != nil || bytes < 0 || iteration < 0 || gradients < 0 {
		return nil, fmt.Errorf("%w: the metadata are not valid", ErrDamagedCheckpoint)
	}
	c.Spent, c.Records.Bytes, c.At.Iteration, c.At.GradientEvaluations = time.Duration(spent), bytes, iteration, gradients
	for _, t := range f.Tensors {
		if name, ok := strings.CutPrefix(t.Name, numbersPrefix); ok {
			c.State.Numbers[name] = t.Float64s()
		} else if name, ok := strings.CutPrefix(t.Name, vectorsPrefix); ok {
			c.State.Vectors[name] = t.Float64s()
		} else {
			return nil, fmt.Errorf("%w: unknown tensor %.40q", ErrDamagedCheckpoint, t.Name)
		}
	}
	return c, nil
}
