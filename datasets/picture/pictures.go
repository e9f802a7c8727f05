// Package picture reads labelled pictures of 8 bits: it selects classes, divides the rows, and
// passes the pixels to a matrix.RowStore while the file is read.
package picture

import (
	"io"
	"runtime"
	"slices"
	"sync"

	"ppal/datasets/matrix"
	"ppal/internal/relay"
)

// Pictures is a set of labelled images whose labels have been read. The pixels can be read only
// once, by Images, Choice.Read or Division.Read. The reading method decides where to store the
// pixels.
type Pictures struct {
	Labels  []uint8  // one for each row, an index into Classes
	Classes []string // names of the declared classes; a class may have no rows
	Shape   Shape

	sections []Section         // sections of the rows, in order
	Skip     int               // bytes before the pixels of each image
	advise   func(error) error // adds advice to an error, and returns nil for nil; nil: no advice
	drawn    *Images           // the images of a built-in set
}

// Section opens the bytes of some consecutive rows.
type Section func() (io.ReadCloser, error)

// NewPictures returns pictures whose pixels the sections hold, with skip bytes before the pixels of
// each image. advise adds advice to errors of reading; nil: no advice.
func NewPictures(labels []uint8, classes []string, shape Shape, skip int, advise func(error) error, sections ...Section) *Pictures {
	return &Pictures{Labels: labels, Classes: classes, Shape: shape, Skip: skip, advise: advise, sections: sections}
}

// Check reads all pixels without keeping them.
func (p *Pictures) Check() error {
	_, err := p.Read(slices.Repeat([]int{-1}, len(p.Labels)), 0, nil)
	return err
}

// Images reads the pixels of all rows.
func (p *Pictures) Images() (*Images, error) {
	if p.drawn != nil {
		set := *p.drawn
		pixels := *set.Pixels
		pixels.Data = slices.Clone(pixels.Data)
		set.Pixels, set.Labels, set.Classes = &pixels, slices.Clone(set.Labels), slices.Clone(set.Classes)
		return &set, nil
	}
	set := &Images{Pixels: matrix.NewBytes(len(p.Labels), p.Shape.Pixels(), PixelScale), Labels: p.Labels, Classes: p.Classes, Shape: p.Shape}
	return set, p.ReadAll(set.Pixels.Data)
}

// ReadAll reads the pixels of all rows. pixels has room for them.
func (p *Pictures) ReadAll(pixels []uint8) error {
	places := make([]int, len(p.Labels))
	for i := range places {
		places[i] = i
	}
	_, err := p.Read(places, 0, &matrix.Bytes{Rows: len(places), Cols: p.Shape.Pixels(), Data: pixels, Scale: PixelScale})
	return err
}

// blockBytes is the approximate size of one read. mostWorkers is the largest number of goroutines
// that store blocks; more goroutines would be idle.
const blockBytes, mostWorkers = 1 << 20, 4

// Block holds consecutive rows between the file and the store.
type Block struct {
	First int
	Bytes []byte
}

// Read stores row i as row places[i] of the store, or nowhere if places[i] is negative. One
// goroutine reads. Other goroutines store blocks of rows and add up the sums of the first counted
// rows of the store.
func (p *Pictures) Read(places []int, counted int, to matrix.RowStore) (*matrix.Tally, error) {
	if len(p.sections) == 0 {
		panic("datasets: pixels that have been read already")
	}
	workers := min(runtime.GOMAXPROCS(0), mostWorkers)
	record := p.Skip + p.Shape.Pixels()
	empty := make(chan []byte, workers+1)
	full := make(chan Block, cap(empty))
	for range cap(empty) {
		empty <- make([]byte, min(max(1, blockBytes/record), len(p.Labels))*record)
	}
	tallies := make([]*matrix.Tally, workers)
	var group sync.WaitGroup
	var panics relay.Relay
	for w := range tallies {
		tallies[w] = matrix.NewTally(p.Shape.Pixels())
		group.Go(func() {
			var rows []placed
			for b := range full {
				_ = panics.Do(func() error { // the reader needs the block again after a panic, too
					rows = p.Place(rows[:0], b, places)
					Put(rows, to)
					for _, r := range rows {
						if r.at < counted {
							tallies[w].Add(r.pixels)
						}
					}
					return nil
				})
				empty <- b.Bytes[:cap(b.Bytes)]
			}
		})
	}
	err := p.eachBlock(empty, full)
	close(full)
	group.Wait()
	panics.Throw()
	for _, t := range tallies[1:] {
		tallies[0].Join(t)
	}
	if p.advise != nil {
		err = p.advise(err)
	}
	return tallies[0], err
}

// eachBlock reads the sections into empty blocks and passes the blocks on.
func (p *Pictures) eachBlock(empty <-chan []byte, full chan<- Block) error {
	row := 0
	for len(p.sections) > 0 {
		open := p.sections[0]
		// free the memory of an archive after its last row
		p.sections[0], p.sections = nil, p.sections[1:]
		r, err := open()
		if err != nil {
			return err
		}
		for err == nil {
			buf := <-empty
			var n int
			n, err = io.ReadFull(r, buf)
			full <- Block{row, buf[:n]} // after the last row, an empty block
			row += n / (p.Skip + p.Shape.Pixels())
		}
		r.Close()
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
	}
	return nil
}

// placed is a row of pixels with its row number in the store.
type placed struct {
	at     int
	pixels []uint8
}

// Place appends the wanted rows of a block to list, sorted by their row in the store.
func (p *Pictures) Place(list []placed, b Block, places []int) []placed {
	record := p.Skip + p.Shape.Pixels()
	for i := range len(b.Bytes) / record {
		if at := places[b.First+i]; at >= 0 {
			list = append(list, placed{at, b.Bytes[i*record+p.Skip : (i+1)*record]})
		}
	}
	slices.SortFunc(list, func(a, b placed) int { return a.at - b.at })
	return list
}

// Put stores rows, consecutive rows in one call.
func Put(list []placed, to matrix.RowStore) {
	var rows [][]uint8
	for i, r := range list {
		rows = append(rows, r.pixels)
		if i+1 == len(list) || list[i+1].at != r.at+1 {
			to.SetRows(r.at+1-len(rows), rows)
			rows = rows[:0]
		}
	}
}
