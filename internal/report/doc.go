// Package report shows runs: report.html, one page for a run, a comparison or a sweep, and the
// pictures in plots/, which have the charts of the page. The page is a single file without external
// requests: its style, script and data are inline. Without the script it shows everything
// except the values under the pointer. All texts from data and settings pass through html/template,
// which escapes them, and the page's content security policy allows only its own script.
package report
