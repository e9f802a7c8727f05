package datasets

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"sync"

	"ppal/datasets/matrix"
)

// Pictures is a set of labelled pictures whose labels have been read. Its pixels are read once, by Images or by the Read of a Choice, and
// are nowhere kept but where those put them.
type Pictures struct {
	Labels  []uint8  // one a row, each an index into Classes
	Classes []string // names of the declared classes; a class may have no rows
	Shape   Shape

	parts  []part            // of the rows, in order
	skip   int               // bytes before the pixels of each picture
	advise func(error) error // puts what to do to an error; nil: nothing
	drawn  *Images           // of a built-in set
}

// part opens some whole rows' bytes.
type part func() (io.ReadCloser, error)

// drawn are pictures that are there.
func drawn(set *Images) *Pictures {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(set.Pixels.Data)), nil }
	return &Pictures{Labels: set.Labels, Classes: set.Classes, Shape: set.Shape, parts: []part{open}, drawn: set}
}

// Images reads the pixels of all rows.
func (p *Pictures) Images() (*Images, error) {
	if p.drawn != nil {
		return p.drawn, nil
	}
	set := &Images{Pixels: matrix.NewBytes(len(p.Labels), p.Shape.Pixels(), PixelScale), Labels: p.Labels, Classes: p.Classes, Shape: p.Shape}
	places := make([]int, len(p.Labels))
	for i := range places {
		places[i] = i
	}
	if _, err := p.read(places, set.Pixels); err != nil {
		return nil, err
	}
	return set, nil
}

// blockBytes is about what is read at a time; more than mostWorkers are never busy with it.
const blockBytes, mostWorkers = 1 << 20, 4

// block is some rows on their way from the file to a store.
type block struct {
	first int
	bytes []byte
}

// read puts row i to the store's row places[i], or nowhere where that is negative. One goroutine reads, others put what has been read,
// each some rows at a time, and add it up.
func (p *Pictures) read(places []int, to matrix.RowStore) (*matrix.Tally, error) {
	if len(p.parts) == 0 {
		panic("datasets: pixels that have been read already")
	}
	workers := min(runtime.GOMAXPROCS(0), mostWorkers)
	record := p.skip + p.Shape.Pixels()
	empty, full := make(chan []byte, workers+1), make(chan block, workers+1)
	for range cap(empty) {
		empty <- make([]byte, min(max(1, blockBytes/record), len(p.Labels))*record)
	}
	tallies := make([]*matrix.Tally, workers)
	var group sync.WaitGroup
	for w := range tallies {
		tallies[w] = matrix.NewTally(p.Shape.Pixels())
		group.Go(func() {
			var rows []placed
			for b := range full {
				rows = p.place(rows[:0], b, places)
				put(rows, to)
				for _, r := range rows {
					tallies[w].Add(r.pixels)
				}
				empty <- b.bytes[:cap(b.bytes)]
			}
		})
	}
	err := p.eachBlock(empty, full)
	close(full)
	group.Wait()
	for _, t := range tallies[1:] {
		tallies[0].Join(t)
	}
	if err != nil && p.advise != nil {
		err = p.advise(err)
	}
	return tallies[0], err
}

// eachBlock reads the parts into empty blocks and passes them on.
func (p *Pictures) eachBlock(empty chan []byte, full chan block) error {
	row := 0
	for len(p.parts) > 0 {
		open := p.parts[0]
		p.parts[0], p.parts = nil, p.parts[1:] // what an archive held is free when it has been read
		r, err := open()
		if err != nil {
			return err
		}
		for err == nil {
			buf := <-empty
			var n int
			n, err = io.ReadFull(r, buf)
			if n > 0 && (err == nil || err == io.ErrUnexpectedEOF) {
				full <- block{row, buf[:n]}
				row += n / (p.skip + p.Shape.Pixels())
			} else {
				empty <- buf
			}
		}
		r.Close()
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
	}
	return nil
}

// placed is a row's pixels and where they are to be.
type placed struct {
	at     int
	pixels []uint8
}

// place appends a block's rows that are wanted to list, in order of their places.
func (p *Pictures) place(list []placed, b block, places []int) []placed {
	record := p.skip + p.Shape.Pixels()
	for i := range len(b.bytes) / record {
		if at := places[b.first+i]; at >= 0 {
			list = append(list, placed{at, b.bytes[i*record+p.skip : (i+1)*record]})
		}
	}
	slices.SortFunc(list, func(a, b placed) int { return a.at - b.at })
	return list
}

// put sets rows, those on end together.
func put(list []placed, to matrix.RowStore) {
	var rows [][]uint8
	for i, r := range list {
		rows = append(rows, r.pixels)
		if i+1 == len(list) || list[i+1].at != r.at+1 {
			to.SetRows(r.at+1-len(rows), rows)
			rows = rows[:0]
		}
	}
}
