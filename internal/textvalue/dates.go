package textvalue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ppal/datasets/dataerr"
)

// DateLayouts lists the forms of dates that the package recognises, as layouts of package time. A
// column has the first form that fits all values of the column.
var DateLayouts = []string{
	"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04",
	"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006/01/02", "2006/01/02 15:04:05", "2006/01/02 15:04",
	"2006-01", "2006.01.02",
	"2.1.2006", "2.1.2006 15:04", "2.1.2006 15:04:05", "2.1.06",
	"1/2/2006", "1/2/2006 15:04", "1/2/2006 15:04:05", "1/2/2006 3:04:05 PM", "1/2/06",
	"2/1/2006", "2/1/2006 15:04", "2/1/2006 15:04:05", "2/1/2006 3:04:05 PM", "2/1/06",
	"2-1-2006", "1-2-2006", "2-Jan-2006", "2-Jan-06", "2 Jan 2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006",
	"Jan 2006", "January 2006", "Mon Jan _2 15:04:05 2006",
}

// FormSet is a set of DateLayouts.
type FormSet uint64

// AllForms has all DateLayouts.
var AllForms = FormSet(1)<<len(DateLayouts) - 1

// DatesAs returns the subset of among whose forms parse the text as a date.
func DatesAs(text string, among FormSet) FormSet {
	if len(text) < 6 || len(text) > 40 {
		return 0
	}
	var fit FormSet
	for i, layout := range DateLayouts {
		if among&(1<<i) != 0 {
			if _, err := time.Parse(layout, text); err == nil {
				fit |= 1 << i
			}
		}
	}
	return fit
}

// layout returns the first form of the set.
func (f FormSet) layout() string {
	for i, layout := range DateLayouts {
		if f&(1<<i) != 0 {
			return layout
		}
	}
	return ""
}

// Ambiguous returns the first form of the set, and a second form of the set with day and month in
// the opposite order. ok is false if the set has no second form with this property.
func (f FormSet) Ambiguous() (first, second string, ok bool) {
	first = f.layout()
	for i, layout := range DateLayouts {
		if f&(1<<i) != 0 && DayFirst(layout) != DayFirst(first) {
			return first, layout, true
		}
	}
	return first, "", false
}

// DayFirst reports whether the layout begins with the day.
func DayFirst(layout string) bool {
	return strings.HasPrefix(layout, "2") && !strings.HasPrefix(layout, "2006")
}

// The numbers that a date becomes: the values of Encoding.Part.
const (
	DatePart    = "day"     // days since 1970-01-01, with the time as a fraction
	MonthPart   = "month"   // 1 to 12
	WeekdayPart = "weekday" // 1, Monday, to 7
	HourPart    = "hour"    // 0 to 24, with the minutes as a fraction
)

// DateParts returns the parts that a date of the layout has: DatePart and others.
func DateParts(layout string) []string {
	parts := []string{DatePart, MonthPart}
	if strings.Contains(strings.ReplaceAll(layout, "2006", ""), "2") {
		parts = append(parts, WeekdayPart)
	}
	if strings.Contains(layout, "04") {
		parts = append(parts, HourPart)
	}
	return parts
}

// DateNumber returns one part of a date as a number. ok is false if the text is not a date of the
// layout.
func DateNumber(text, layout, part string) (x float64, ok bool) {
	t, err := time.Parse(layout, text)
	if err != nil {
		return 0, false
	}
	switch part {
	case DatePart:
		return float64(t.Unix()) / (24 * 60 * 60), true
	case MonthPart:
		return float64(t.Month()), true
	case WeekdayPart:
		return float64((int(t.Weekday())+6)%7 + 1), true
	case HourPart:
		return float64(t.Hour()) + float64(t.Minute())/60 + float64(t.Second())/3600, true
	}
	return 0, false
}

// DateWords replaces the parts of a layout by words.
var DateWords = strings.NewReplacer("2006", "year", "January", "month", "Jan", "month", "Mon", "weekday", "15", "hour", "04", "minute", "05", "second",
	"06", "year", "01", "month", "02", "day", "_2", "day", "Z07:00", "zone", "PM", "AM or PM", "3", "hour", "1", "month", "2", "day")

// NotReadable is the error of a text that cannot be read as a number, or as a date of a layout if
// the layout is not empty. It is ErrNumber.
func NotReadable(text []byte, layout string) error {
	if layout == "" {
		return fmt.Errorf("%s is %w", Quoted(text), dataerr.ErrNumber)
	}
	return notDate{fmt.Sprintf("%s is not a date in the form %s, as in training", Quoted(text), DateWords.Replace(layout))}
}

// notDate is the error of a text that is not a date.
type notDate struct{ text string }

// Error returns the text.
func (e notDate) Error() string { return e.text }

// Unwrap returns ErrNumber.
func (notDate) Unwrap() error { return dataerr.ErrNumber }

// CheckDate returns an error if the form or the part is unknown.
func CheckDate(layout, part string) error {
	if !slices.Contains(DateLayouts, layout) {
		return fmt.Errorf("unknown form of dates %q", layout)
	}
	if !slices.Contains(DateParts(layout), part) {
		return fmt.Errorf("unknown part %q of dates %q", part, layout)
	}
	return nil
}
