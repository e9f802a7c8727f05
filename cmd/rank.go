package cmd

import (
	"strconv"

	"ppal/models/predictor"
)

// rankedLines are the rows of the last query, which may go on in the next batch.
type rankedLines struct {
	query  string
	rows   []int64
	scores []float64
	kept   [][]string // of each row
}

// rank writes the lines of the queries that end in the batch. Without queries, the lines have the
// scores alone.
func (p *predictions) rank(b *predictor.Batch) error {
	at := len(p.keep) // the place of the query among the kept texts
	if p.rows == 0 {
		p.unqueried = at == len(b.Kept) || len(b.Kept[at]) > 0 && b.Kept[at][0] == ""
		if p.unqueried {
			p.lines = append(p.lines, "row,score\n"...)
		} else {
			p.header()
		}
	}
	for i, score := range b.Scores {
		row := int64(b.First + i + 1)
		if p.unqueried {
			p.lines = append(appendNumber(append(strconv.AppendInt(p.lines, row, 10), ','), score), '\n')
			continue
		}
		l := &p.ranked
		if query := b.Kept[at][i]; query != l.query {
			p.flush()
			l.query = query
		}
		texts := make([]string, at)
		for k := range texts {
			texts[k] = b.Kept[k][i]
		}
		l.rows, l.scores, l.kept = append(l.rows, row), append(l.scores, score), append(l.kept, texts)
	}
	p.rows += len(b.Scores)
	p.unknown += b.Unknown
	_, err := p.out.Write(p.lines)
	return err
}

// flush appends the lines of the last query.
func (p *predictions) flush() {
	l := &p.ranked
	for i, rank := range predictor.Ranks(l.scores) {
		line := appendField(append(strconv.AppendInt(p.lines, l.rows[i], 10), ','), l.query)
		line = strconv.AppendInt(append(appendNumber(append(line, ','), l.scores[i]), ','), int64(rank), 10)
		for _, text := range l.kept[i] {
			line = appendField(append(line, ','), text)
		}
		p.lines = append(line, '\n')
	}
	l.rows, l.scores, l.kept = l.rows[:0], l.scores[:0], l.kept[:0]
}

// end writes the lines of the last query.
func (p *predictions) end() error {
	p.lines = p.lines[:0]
	p.flush()
	_, err := p.out.Write(p.lines)
	return err
}
