package reproduce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cases"
	"ppal/internal/compare"
	"ppal/internal/require"
)

// block matches the part of a page that is written from the journals of experiments.
var block = regexp.MustCompile(`(?s)<!-- (results|verdicts) ([^>]+) -->\n(.*?)<!-- end -->`)

// The results in the page about the paper are those of the journals: each block between markers is
// written from docs/evidence/journals, which "make results" copies from runs. With -update the test
// writes the page. Each journal has its results and its verdicts in the page. Numbers in the text,
// and in README's lines about the page, are numbers of a journal.
func TestPages(t *testing.T) {
	evidence := filepath.Join("..", "..", "docs", "evidence")
	page := filepath.Join(evidence, "paper.md")
	text := require.Value(os.ReadFile(page))(t)
	cited, numbers := map[string]int{}, map[string]bool{}
	want := block.ReplaceAllStringFunc(string(text), func(found string) string {
		parts := block.FindStringSubmatch(found)
		kind, names := parts[1], strings.Fields(parts[2])
		var journals []*Journal
		for _, name := range names {
			cited[kind+" "+name]++
			data, err := os.ReadFile(filepath.Join(evidence, "journals", name+".json"))
			if err != nil {
				t.Fatalf("%s: the page cites %s, which has no journal: %v", page, name, err)
			}
			j := new(Journal)
			if err := json.Unmarshal(data, j); err != nil || j.Name != name {
				t.Fatalf("%s: %v", name, err)
			}
			for _, v := range numeral.FindAllString(string(data)+j.page(), -1) {
				numbers[v] = true
			}
			journals = append(journals, j)
		}
		body := verdicts(t, journals)
		if kind == "results" {
			body = journals[0].page()
		}
		return fmt.Sprintf("<!-- %s %s -->\n%s<!-- end -->", kind, parts[2], body)
	})
	files, err := filepath.Glob(filepath.Join(evidence, "journals", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journals: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if cited["results "+name] != 1 || cited["verdicts "+name] != 1 {
			t.Errorf("the page has %d blocks of results and %d of verdicts of %s", cited["results "+name], cited["verdicts "+name], name)
		}
	}
	cases.Golden(t, page, want)
	prose := block.ReplaceAllString(want, "")
	for path, text := range map[string]string{page: prose, "README.md": aboutThePaper(t)} {
		for _, v := range numeral.FindAllString(noResult.ReplaceAllString(text, ""), -1) {
			if !numbers[v] {
				t.Errorf("%s cites %s, which no journal has", path, v)
			}
		}
	}
}

var (
	// numeral matches a number of at least two digits.
	numeral = regexp.MustCompile(`[0-9][0-9.]*[0-9](e-?[0-9]+)?`)
	// noResult matches code, dates, addresses of links, a name and the level of the intervals.
	noResult = regexp.MustCompile("(?m)`[^`]*`|^ {4}.*$|[0-9]{4}-[0-9]{2}-[0-9]{2}|\\]\\([^)]*\\)|95% interval|CIFAR-10")
)

// aboutThePaper returns the lines of README.md that link to the page about the paper.
func aboutThePaper(t *testing.T) string {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join("..", "..", "README.md")))(t)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "evidence/paper.md") {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		t.Error("README.md does not link to the page about the paper")
	}
	return strings.Join(lines, "")
}

// page returns the part of a page.
func (j *Journal) page() string {
	var out strings.Builder
	number := func(s compare.Statistic) string {
		if s.N == 0 {
			return "-"
		}
		return fmt.Sprintf("%.4g", s.Mean)
	}
	for _, line := range j.Data {
		width := 0
		for _, word := range strings.Fields(line) {
			if width += len(word) + 1; width > 160 {
				width = len(word) + 1
				out.WriteString("\n")
			} else if width > len(word)+1 {
				out.WriteString(" ")
			}
			out.WriteString(word)
		}
		out.WriteString("\n\n")
	}
	fmt.Fprintf(&out, "|method|loss|violation|best feasible|met|\n|---|--:|--:|--:|--:|\n")
	for _, c := range j.Comparisons {
		for _, m := range c.Methods {
			fmt.Fprintf(&out, "|%s:%s|%s|%s|%s|%d/%d|\n", c.Name, m.Name, number(m.Loss), number(m.Violation), number(m.Best), m.Met, len(c.Seeds))
		}
	}
	return out.String()
}

// verdicts returns the claims of several experiments as a numbered list, and a table of the
// rulings: a row for each comparison, with a link to its journal, and a column for each claim.
// Claims that are equal but for their subject share a number if their rulings are equal.
func verdicts(t *testing.T, journals []*Journal) string {
	t.Helper()
	type claim struct {
		subjects, predicate string
		rulings             map[string]string // by row
	}
	var rows []string
	var claims []*claim
	find := func(whole string) *claim {
		for _, c := range claims {
			if c.subjects+" "+c.predicate == whole {
				return c
			}
		}
		subject, predicate, _ := strings.Cut(whole, " ")
		claims = append(claims, &claim{subject, predicate, map[string]string{}})
		return claims[len(claims)-1]
	}
	for _, j := range journals {
		for _, comparison := range j.Comparisons {
			if slices.ContainsFunc(j.Verdicts, func(v JournalVerdict) bool { return v.Comparison == comparison.Name }) {
				rows = append(rows, j.Name+":"+comparison.Name)
			}
		}
		for _, v := range j.Verdicts {
			rulings, row := find(v.Claim).rulings, j.Name+":"+v.Comparison
			if rulings[row] != "" {
				t.Errorf("%s has two verdicts on %q", row, v.Claim)
			}
			rulings[row] = string(v.Ruling)
		}
	}
	var merged []*claim
	for i, c := range claims {
		if i > 0 && c.predicate == claims[i-1].predicate && maps.Equal(c.rulings, claims[i-1].rulings) {
			merged[len(merged)-1].subjects += ", " + c.subjects
			continue
		}
		merged = append(merged, c)
	}
	var out strings.Builder
	for i, c := range merged {
		if strings.Contains(c.subjects, ", ") {
			c.predicate = "each " + c.predicate
		}
		fmt.Fprintf(&out, "%d. %s %s\n", i+1, c.subjects, c.predicate)
	}
	out.WriteString("\n|experiment|")
	for i := range merged {
		fmt.Fprintf(&out, "%d|", i+1)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(merged)) + "\n")
	for _, row := range rows {
		name, comparison, _ := strings.Cut(row, ":")
		fmt.Fprintf(&out, "|[%s]:%s|", name, comparison)
		for _, c := range merged {
			fmt.Fprintf(&out, "%s|", cmp.Or(c.rulings[row], "-"))
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
	for _, j := range journals {
		fmt.Fprintf(&out, "[%s]:journals/%[1]s.json\n", j.Name)
	}
	return out.String()
}
