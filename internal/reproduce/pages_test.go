package reproduce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/study"
)

// block matches the part of a page that is written from the journals of experiments.
var block = regexp.MustCompile(`(?s)<!-- (results|verdicts) ([^>]+) -->\n(.*?)<!-- end -->`)

// The results in the pages about the paper are those of the journals: each block between markers is
// written from docs/evidence/journals, which "make results" copies from runs. With -update the test
// writes the pages. Each journal has its results and its verdicts in one page. Numbers in the text
// of a page are numbers of its journals; those of paper.md, and of README's lines about it, are
// numbers of any journal.
func TestPages(t *testing.T) {
	evidence := filepath.Join("..", "..", "docs", "evidence")
	pages := require.Value(filepath.Glob(filepath.Join(evidence, "paper", "*.md")))(t)
	cited, all := map[string]int{}, map[string]bool{}
	for _, page := range pages {
		numbers := map[string]bool{}
		want := block.ReplaceAllStringFunc(string(require.Value(os.ReadFile(page))(t)), func(found string) string {
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
		require.Golden(t, page, want)
		cites(t, page, block.ReplaceAllString(want, ""), numbers)
		maps.Copy(all, numbers)
	}
	files, err := filepath.Glob(filepath.Join(evidence, "journals", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journals: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if cited["results "+name] != 1 || cited["verdicts "+name] != 1 {
			t.Errorf("the pages have %d blocks of results and %d of verdicts of %s", cited["results "+name], cited["verdicts "+name], name)
		}
	}
	cites(t, "paper.md", string(require.Value(os.ReadFile(filepath.Join(evidence, "paper.md")))(t)), all)
	cites(t, "README.md", aboutThePaper(t), all)
}

// cites checks that a text has only numbers of journals.
func cites(t *testing.T, name, text string, numbers map[string]bool) {
	t.Helper()
	for _, v := range numeral.FindAllString(noResult.ReplaceAllString(text, ""), -1) {
		if !numbers[v] {
			t.Errorf("%s cites %s, which no journal has", name, v)
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
	number := func(s study.Statistic) string {
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

// compared matches the difference from another method in the numbers of a verdict. The difference
// of fewer than five seeds has no interval.
var compared = regexp.MustCompile(`(?:^|; )([a-z-]+) [^;]*\(difference ([^,)]+)(?:, (\S+) to (\S+): ([a-z ]+))?\)`)

// decisive returns the method from which the subject of a verdict differs least clearly in its
// favour, and the 95% interval of the difference, or the difference if it has no interval.
func decisive(numbers string) (rival, difference string) {
	worst := math.Inf(-1)
	for _, d := range compared.FindAllStringSubmatch(numbers, -1) {
		text, high := d[2], d[2]
		if d[5] != "" {
			text, high = "["+d[3]+","+d[4]+"]", d[4]
		}
		value, err := strconv.ParseFloat(high, 64)
		rank := float64(slices.Index([]string{"lower", "cannot be told", "", "equal", "higher"}, d[5])) * 1e9
		if err == nil && rank+value > worst {
			worst, rival, difference = rank+value, d[1], text
		}
	}
	return rival, difference
}

// verdicts returns the claims of several experiments as a numbered list, and a table with a row for
// each verdict: the comparison with a link to its journal, and the difference that decides, if
// differences do. Claims that are equal but for their subject share a number if their rows are
// equal.
func verdicts(t *testing.T, journals []*Journal) string {
	t.Helper()
	type claim struct {
		subjects, predicate string
		rows                []string
	}
	var claims []*claim
	for _, j := range journals {
		for _, v := range j.Verdicts {
			subject, predicate, _ := strings.Cut(v.Claim, " ")
			i := slices.IndexFunc(claims, func(c *claim) bool { return c.subjects == subject && c.predicate == predicate })
			if i < 0 {
				i, claims = len(claims), append(claims, &claim{subjects: subject, predicate: predicate})
			}
			rival, difference := decisive(v.Numbers)
			row := fmt.Sprintf("[%s]:%s|%s|%s|%s|", j.Name, v.Comparison, v.Ruling, cmp.Or(rival, "-"), cmp.Or(difference, "-"))
			claims[i].rows = append(claims[i].rows, row)
		}
	}
	var merged []*claim
	for i, c := range claims {
		if i > 0 && c.predicate == claims[i-1].predicate && slices.Equal(c.rows, claims[i-1].rows) {
			merged[len(merged)-1].subjects += ", " + c.subjects
			continue
		}
		merged = append(merged, c)
	}
	var list, table strings.Builder
	for i, c := range merged {
		if strings.Contains(c.subjects, ", ") {
			c.predicate = "each " + c.predicate
		}
		fmt.Fprintf(&list, "%d. %s %s\n", i+1, c.subjects, c.predicate)
		for _, row := range c.rows {
			fmt.Fprintf(&table, "|%d|%s\n", i+1, row)
		}
	}
	list.WriteString("\n|claim|experiment|verdict|from|difference|\n|--:|---|---|---|---|\n" + table.String() + "\n")
	for _, j := range journals {
		fmt.Fprintf(&list, "[%s]:../journals/%[1]s.json\n", j.Name)
	}
	return list.String()
}
