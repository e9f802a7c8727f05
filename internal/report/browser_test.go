package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestInBrowser opens the pages of a run, of pictures, of a comparison and of a sweep in a Chromium
// without a screen: make check-report. It needs PPAL_BROWSER, the path of the browser. The folder
// PPAL_SHOTS, if set, receives screenshots.
func TestInBrowser(t *testing.T) {
	path := os.Getenv("PPAL_BROWSER")
	if path == "" {
		t.Skip("PPAL_BROWSER is not set: make check-report sets it")
	}
	shots := os.Getenv("PPAL_SHOTS")
	if shots != "" {
		require.NoError(t, os.MkdirAll(shots, 0o755))
	}
	pages := trainedPages(t)
	b := openBrowser(t, path)
	for _, p := range pages {
		for _, width := range []int{375, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", p.name, width, scheme), func(t *testing.T) {
					b.t, b.bad = t, nil
					b.open(p.path, width, scheme)
					checkLayout(t, b, p.sections)
					if shots != "" {
						b.screenshot(filepath.Join(shots, strings.ReplaceAll(t.Name()[len("TestInBrowser/"):], "/", "-")+".png"))
					}
					checkPointer(t, b)
					for _, text := range b.bad {
						t.Errorf("the page has an error: %s", text)
					}
				})
			}
		}
	}
}

// checkLayout checks that the sections are there, and that the page is not wider than the window.
func checkLayout(t *testing.T, b *browser, sections []string) {
	t.Helper()
	var page struct {
		IDs         []string
		Wide, Inner int
		Beyond      []string
		Background  string
	}
	b.eval(`(() => {
		const beyond = [];
		for (const e of document.querySelectorAll("main *, header *, footer *")) {
			if (e.closest(".scroll, nav, pre, .area, .unseen, .xlabels, .ticks") && !e.matches(".scroll, pre")) continue;
			const r = e.getBoundingClientRect();
			if (r.width > 0 && (r.right > innerWidth + 1 || r.left < -1)) beyond.push(e.tagName + "." + e.className + " " + e.textContent.slice(0, 40));
		}
		return {ids: [...document.querySelectorAll("section")].map((s) => s.id), wide: document.documentElement.scrollWidth, inner: innerWidth,
			beyond: beyond.slice(0, 5), background: getComputedStyle(document.body).backgroundColor};
	})()`, &page)
	for _, id := range sections {
		if !slices.Contains(page.IDs, id) {
			t.Errorf("no section %s in %q", id, page.IDs)
		}
	}
	if page.Wide > page.Inner || len(page.Beyond) > 0 {
		t.Errorf("the page is %d pixels wide in a window of %d: %q", page.Wide, page.Inner, page.Beyond)
	}
	dark := page.Background == "rgb(18, 20, 23)"
	if want := strings.HasSuffix(t.Name(), "-dark"); dark != want {
		t.Errorf("background %s", page.Background)
	}
}

// checkPointer checks that every chart shows values under the pointer and with the arrow keys, and
// draws again on another axis.
func checkPointer(t *testing.T, b *browser) {
	t.Helper()
	var charts int
	b.eval(`document.querySelectorAll("figure.chart").length`, &charts)
	if charts == 0 {
		t.Error("no chart")
	}
	for k := range charts {
		chart := fmt.Sprintf(`document.querySelectorAll("figure.chart")[%d]`, k)
		state := `(() => { const f = ` + chart + `; return {at: f.querySelector(".at").hidden ? "" : f.querySelector(".at").textContent,
			values: [...f.querySelectorAll(".legend .value")].map((e) => e.textContent).join("|"), dots: f.querySelectorAll(".cursor i").length,
			path: [...f.querySelectorAll("path.line")].map((e) => e.getAttribute("d")).join("|")}; })()`
		type shown struct {
			At, Values, Path string
			Dots             int
		}
		var box struct{ X, Y, Width, Height float64 }
		b.eval(`(() => { const a = `+chart+`.querySelector(".area"); a.scrollIntoView({block: "center"}); const r = a.getBoundingClientRect();
			return {x: r.x, y: r.y, width: r.width, height: r.height}; })()`, &box)
		if box.Width < 200 || box.Height < 150 {
			t.Errorf("chart %d has %v x %v pixels", k+1, box.Width, box.Height)
		}
		var before, hover, key shown
		b.eval(state, &before)
		b.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": box.X + box.Width*0.6, "y": box.Y + box.Height/2}, nil)
		b.eval(state, &hover)
		if before.At != "" || hover.At == "" || hover.Dots == 0 || !strings.ContainsAny(hover.Values, "0123456789") {
			t.Errorf("chart %d: the pointer shows %+v", k+1, hover)
		}
		b.eval(chart+`.querySelector(".plot").focus()`, nil)
		for _, kind := range []string{"keyDown", "keyUp"} {
			b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Home", "code": "Home", "windowsVirtualKeyCode": 36}, nil)
		}
		b.eval(state, &key)
		if key.At == "" || key.At == hover.At {
			t.Errorf("chart %d: the key Home shows %q after %q", k+1, key.At, hover.At)
		}
		var toggled bool
		b.eval(`(() => { const t = `+chart+`.querySelector(".log"); if (!t) return false; t.click(); return true; })()`, &toggled)
		var after shown
		b.eval(state, &after)
		if toggled && after.Path == before.Path {
			t.Errorf("chart %d: the other vertical axis has the same curves", k+1)
		}
		if strings.Contains(after.Path, "NaN") || strings.Contains(after.Path, "Infinity") {
			t.Errorf("chart %d: %s", k+1, after.Path)
		}
	}
	var changed []bool
	b.eval(`[...document.querySelectorAll(".axes button")].slice(1).map((button) => {
		const label = () => document.querySelector("figure.chart .axis").textContent;
		const old = label(); button.click(); return label() !== old && button.getAttribute("aria-pressed") === "true"; })`, &changed)
	if slices.Contains(changed, false) {
		t.Errorf("the buttons of the horizontal axis do not change it: %v", changed)
	}
}
