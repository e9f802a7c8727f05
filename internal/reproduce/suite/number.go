package suite

import (
	"encoding/json"
	"math"
)

// number is a float64 whose JSON is null if the value is not finite. null reads as NaN.
type number float64

// MarshalJSON implements json.Marshaler.
func (x number) MarshalJSON() ([]byte, error) {
	if v := float64(x); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON implements json.Unmarshaler.
func (x *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*x = number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(x))
}
