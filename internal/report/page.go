package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strconv"
	"unicode"

	"ppal/internal/chart"
	"ppal/internal/option"
	"ppal/internal/rundir"
)

//go:embed page
var files embed.FS

// page is a page of any kind.
type page struct {
	Kind, Title, Kicker, Version, Dir string
	View                              any
	Charts                            []chart.Data // for the script
	Style                             template.CSS
	Script                            template.JS
	Policy                            string

	templates func() (*template.Template, error) // nil: parseTemplates
}

// newPage returns a page. The template of the given kind shows view.
func newPage(kind, title, kicker, version, dir string, view any) *page {
	return &page{Kind: kind, Title: title, Kicker: kicker, Version: version, Dir: dir, View: view}
}

// write writes the page atomically.
func (p *page) write(path string) error {
	data, err := p.render()
	if err != nil {
		return err
	}
	return rundir.WriteFile(path, data)
}

// render returns the page's bytes.
func (p *page) render() ([]byte, error) {
	style, err := files.ReadFile("page/style.css")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	script, err := files.ReadFile("page/script.js")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	p.Style, p.Script = template.CSS(style), template.JS(script)
	sum := sha256.Sum256(script)
	p.Policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if p.templates == nil {
		p.templates = parseTemplates
	}
	t, err := p.templates()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	t.Funcs(template.FuncMap{"chart": p.chart})
	// The body comes first, because it collects the charts for the script.
	var body, out bytes.Buffer
	if err := t.ExecuteTemplate(&body, p.Kind+".html", p.View); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := t.ExecuteTemplate(&out, "page.html", struct {
		*page
		Body template.HTML
	}{p, template.HTML(body.String())}); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return bytes.Map(visible, out.Bytes()), nil
}

// parseTemplates parses the templates of all pages.
func parseTemplates() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"chart": (&page{}).chart, // render replaces it by the chart of its page
		"quote": option.ShellWord,
		"pct":   func(v float64) float64 { return 100 * v }, "flip": func(v float64) float64 { return 1000 - 1000*v },
		"sub": func(a, b float64) float64 { return a - b }, "rows": func(n int) string { return option.Counted(n, "row") },
	}).ParseFS(files, "page/*.html")
}

// chart gives a chart its number and collects its data for the script.
func (p *page) chart(c *chart.Chart) *chart.Chart {
	c.ID = "chart" + strconv.Itoa(len(p.Charts)+1)
	p.Charts = append(p.Charts, c.Data())
	return c
}

// visible replaces control characters, and characters that reverse the direction of text: names in
// data may hold them.
func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
		return unicode.ReplacementChar
	}
	return r
}

// File is the name of the page in its directory.
const File = "report.html"
