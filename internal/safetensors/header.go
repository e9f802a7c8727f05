package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// metadataKey is the only key of the header that does not name a tensor.
const metadataKey = "__metadata__"

// entry is one tensor of the header.
type entry struct {
	name       string
	dtype      Dtype
	shape      []int
	begin, end int64 // from the beginning of the data
	offset     int64 // end of the entry in the file, for errors
}

// headerParser reads the header's JSON token by token, which finds duplicate keys and gives every
// error its byte.
type headerParser struct {
	dec    *json.Decoder
	tensor string // the tensor being read, for errors
}

// parseHeader parses the header's JSON, which starts at byte lengthSize of the file.
func parseHeader(text []byte) (map[string]string, []entry, error) {
	if !utf8.Valid(text) {
		return nil, nil, &FormatError{Offset: lengthSize, Err: errHeader, Detail: "not UTF-8"}
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, nil, &FormatError{Offset: lengthSize, Err: errHeader, Detail: "does not begin with {"}
	}
	p := &headerParser{dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	var metadata map[string]string
	var entries []entry
	err := p.object(func(key string) (err error) {
		if key == metadataKey {
			metadata, err = p.metadata()
			return err
		}
		e, err := p.entry(key)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return nil, nil, p.fail(errHeader, "text follows the closing }")
	}
	return metadata, entries, nil
}

// metadata reads {string: string}.
func (p *headerParser) metadata() (map[string]string, error) {
	metadata := map[string]string{}
	err := p.object(func(key string) error {
		token, err := p.token()
		if err != nil {
			return err
		}
		value, ok := token.(string)
		if !ok {
			return p.fail(errHeader, fmt.Sprintf("metadata %q is not a string", key))
		}
		metadata[key] = value
		return nil
	})
	return metadata, err
}

// entry reads {"dtype": string, "shape": [int...], "data_offsets": [int, int]}.
func (p *headerParser) entry(name string) (entry, error) {
	p.tensor = name
	defer func() { p.tensor = "" }()
	e := entry{name: name}
	seen := 0
	err := p.object(func(key string) error {
		seen++
		switch key {
		case "dtype":
			token, err := p.token()
			if err != nil {
				return err
			}
			dtype, ok := token.(string)
			if !ok {
				return p.fail(errHeader, "dtype is not a string")
			}
			if e.dtype = Dtype(dtype); e.dtype.Size() == 0 {
				return p.fail(errDtype, fmt.Sprintf("%q, supported are F32 and F64", dtype))
			}
		case "shape":
			shape, err := p.integers()
			if err != nil {
				return err
			}
			for _, size := range shape {
				e.shape = append(e.shape, int(size))
			}
		case "data_offsets":
			offsets, err := p.integers()
			if err != nil {
				return err
			}
			if len(offsets) != 2 {
				return p.fail(errHeader, fmt.Sprintf("%d data_offsets, want 2", len(offsets)))
			}
			e.begin, e.end = offsets[0], offsets[1]
		default:
			return p.fail(errHeader, fmt.Sprintf("unknown key %q", key))
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	if seen != 3 {
		return e, p.fail(errHeader, "dtype, shape or data_offsets is missing")
	}
	e.offset = p.offset()
	return e, nil
}

// object reads {key: value, ...} and calls value after each key.
func (p *headerParser) object(value func(key string) error) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	keys := map[string]bool{}
	for p.dec.More() {
		token, err := p.token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder accepts only strings here
		if keys[key] {
			return p.fail(errHeader, fmt.Sprintf("key %q appears twice", key))
		}
		keys[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return p.delim('}')
}

// integers reads [n, ...] with 0 <= n.
func (p *headerParser) integers() ([]int64, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	var values []int64
	for p.dec.More() {
		token, err := p.token()
		if err != nil {
			return nil, err
		}
		number, ok := token.(json.Number)
		if !ok {
			return nil, p.fail(errHeader, fmt.Sprintf("%v instead of an integer", token))
		}
		// Sizes must fit an int, so they have 31 bits where int has 32.
		value, err := strconv.ParseUint(number.String(), 10, strconv.IntSize-1)
		if err != nil {
			return nil, p.fail(errHeader, fmt.Sprintf("%s is not a valid size or offset", number))
		}
		values = append(values, int64(value))
	}
	return slices.Clip(values), p.delim(']')
}

// delim reads one of { } [ ].
func (p *headerParser) delim(want json.Delim) error {
	token, err := p.token()
	if err != nil {
		return err
	}
	if token != want {
		return p.fail(errHeader, fmt.Sprintf("%v instead of %v", token, want))
	}
	return nil
}

func (p *headerParser) token() (json.Token, error) {
	token, err := p.dec.Token()
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, p.fail(errHeader, "ends within the JSON object")
	}
	if err != nil {
		return nil, p.fail(errHeader, err.Error())
	}
	return token, nil
}

// offset returns the file offset after the last token.
func (p *headerParser) offset() int64 { return lengthSize + p.dec.InputOffset() }

func (p *headerParser) fail(kind error, detail string) error {
	return &FormatError{Offset: p.offset(), Tensor: p.tensor, Err: kind, Detail: detail}
}
