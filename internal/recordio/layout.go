package recordio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
)

// separatorOf returns the character between fields; 0: detect it.
func separatorOf(l *tabular.Layout) rune {
	if l.Separator == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(l.Separator)
	return r
}

// separatorLine is the line by which Excel tells the separator, before the columns' names.
var separatorLine = regexp.MustCompile(`^(?i)"?sep=([^\r\n])"?\r?\n`)

// separatorBytes is more than the length of such a line.
const separatorBytes = 16

// skipLines reads the lines before the table: as many as Skip counts, and a line such as "sep=;",
// which sets the separator if it is not known. It returns their number. peek returns the next line
// of r, or its first bytes.
func skipLines(l *tabular.Layout, r *bufio.Reader, name string, peek func() ([]byte, error)) (lines int, err error) {
	for lines < l.Skip {
		_, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			lines++
		case err == io.EOF:
			return 0, &dataerr.FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file has no line after the %d lines to skip", dataerr.ErrTruncated, l.Skip)}
		case !errors.Is(err, bufio.ErrBufferFull): // a long line continues
			return 0, err
		}
	}
	head, err := peek()
	if err != nil && err != io.EOF {
		return 0, err
	}
	if found := separatorLine.FindSubmatch(head); found != nil {
		_, _ = r.Discard(len(found[0])) // Discard cannot fail: Peek has filled the buffer
		lines++
		if l.Separator == "" {
			l.Separator = string(found[1])
		}
	}
	return lines, nil
}

// comments returns the number of lines at the beginning of a text that are comments, as the first
// line shows.
func comments(text []byte) (n int) {
	for _, mark := range []string{"#", "%", "//"} {
		for rest := text; bytes.HasPrefix(rest, []byte(mark)); n++ {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			rest = rest[end+1:]
		}
	}
	return n
}
