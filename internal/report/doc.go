// Package report says how a run ended, for the terminal's table, for `ppal watch` and for
// report.html, one page for a run, a comparison or a sweep: the rows, the states and the sentences
// of a View, by the summary of the run alone. It also draws the pictures in plots/, which have the
// charts of the page.
//
// The page is a single file without external requests: its style, script and data are inline.
// Without the script it shows everything except the values under the pointer. All texts from data
// and settings pass through html/template, which escapes them, and the page's content security
// policy allows only its own script.
package report
