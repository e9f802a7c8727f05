package newrows

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"

	"ppal/datasets/dataerr"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// ReadRows reads rows in LIBSVM's format. A row may lack its label unless Keep lists the label.
func (n *NewRows) readLIBSVM(r io.Reader, name string) error {
	text, err := recordio.OpenLIBSVM(r, name)
	if err != nil {
		return err
	}
	from := recordio.NewChunker(text, name)
	from.Unquoted, from.Pausing = true, n.pausing
	p := n.Preparation
	place := make([]int, p.Indices) // the feature of each index; -1: none
	for j := range place {
		place[j] = -1
	}
	for feature, index := range p.Numbers {
		place[index-1] = feature
	}
	keep := make([]int, len(n.Keep)) // the kept indices; 0: the label
	for k, text := range n.Keep {
		if text == "" {
			continue
		}
		found, err := (&loader.SparseDesign{Shift: p.Shift()}).Find([]string{text}, p.Indices)
		if err != nil {
			return &dataerr.FileError{Path: name, Offset: -1, Err: err}
		}
		keep[k] = int(found[0]) + 1
	}
	return n.inOrder(name, n.Keep, from.Next, func() worker {
		return &libsvmWorker{name: name, results: n.newResults(len(p.Numbers)), place: place, keep: keep, shift: p.Shift(), texts: copies{}}
	})
}

// libsvmWorker prepares rows in LIBSVM's format.
type libsvmWorker struct {
	*results
	name  string // name of the file, for errors
	place []int
	keep  []int
	shift int    // as in LibsvmParser
	texts copies // of the labels
}

// do implements worker.
func (w *libsvmWorker) do(c recordio.Chunk, b *Block) error {
	w.begin(b)
	for number, text := c.Line, c.Text; len(text) > 0; number++ {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else if text = nil; !c.Last {
			return w.Fail(w.at(number, recordio.ErrLongRecord))
		}
		if at := bytes.IndexByte(line, '#'); at >= 0 {
			line = line[:at]
		}
		if field, _ := loader.NextField(line); len(field) == 0 {
			continue
		}
		if err := w.line(line, b); err != nil {
			return w.Fail(w.at(number, err))
		}
		if err := w.add(); err != nil {
			return err
		}
	}
	return w.flush()
}

// at returns an error with its line.
func (w *libsvmWorker) at(line int, err error) error {
	return &dataerr.FileError{Path: w.name, Offset: -1, Line: line, Err: err}
}

// line adds the row of a line that is not empty.
func (w *libsvmWorker) line(line []byte, b *Block) error {
	field, rest := loader.NextField(line)
	label := ""
	if bytes.IndexByte(field, ':') < 0 {
		if _, ok := textvalue.Number(field); !ok {
			return loader.BadLabel(field)
		}
		label = w.texts.of(field)
		field, rest = loader.NextField(rest)
	}
	if bytes.HasPrefix(field, []byte("qid:")) {
		field, rest = loader.NextField(rest)
	}
	row := w.row()
	has := make([]bool, len(w.keep))
	for previous := 0; len(field) > 0; field, rest = loader.NextField(rest) {
		most := len(w.place)
		if w.of.IgnoreUnknown {
			most = 0
		}
		index, value, err := loader.ParseEntry(field, previous, most, w.shift)
		if err != nil {
			return err
		}
		if previous = index; index > len(w.place) {
			b.Unknown++
			continue
		}
		if place := w.place[index-1]; place >= 0 {
			row[place] = value
		}
		if k := slices.Index(w.keep, index); k >= 0 {
			has[k] = value != 0
		}
	}
	for k, index := range w.keep {
		switch {
		case index > 0:
			b.Kept[k] = append(b.Kept[k], strconv.Itoa(textvalue.Indicator(has[k])))
		case label == "":
			return fmt.Errorf("%w: the row has no label", dataerr.ErrMissing)
		default:
			b.Kept[k] = append(b.Kept[k], label)
		}
	}
	return nil
}
