// Package statistics says what counted decisions on some rows tell about new rows: intervals of
// rates and of their combinations, thresholds and bounds that hold at a confidence, and the numbers
// of rows that these need. The rows are independent draws, and the decisions on them come from a
// model that does not depend on them.
//
// A level or a confidence is a probability, such as 0.95. A tail is the probability of a wrong
// statement, such as 0.05.
package statistics
