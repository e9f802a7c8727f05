// Package report writes report.html: one page that shows a run, a comparison or a sweep. The page
// is a single file without external requests: its style, script and data are inline. Without the
// script it shows everything except the values under the pointer. All texts from data and settings
// pass through html/template, which escapes them, and the page's content security policy allows
// only its own script.
package report
