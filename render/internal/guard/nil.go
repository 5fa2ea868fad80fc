package guard

import "reflect"

// IsNil reports whether a value is a nil pointer.
func IsNil(value any) bool {
	v := reflect.ValueOf(value)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
