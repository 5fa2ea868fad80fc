package summarize_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize/event"
)

func TestEveryFieldOfAnEventIsLoggedExceptTheSummary(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[event.Event]()) {
		if field.Anonymous {
			continue
		}
		var e event.Event
		if field.Name == "Err" {
			e.Err = errors.New("quota")
		} else {
			setNonZero(t, reflect.ValueOf(&e).Elem().FieldByIndex(field.Index))
		}
		logged := len(e.LogValue().Group()) > 0
		private := field.Name == "Summary" || field.Name == "Title"
		require.Equal(t, !private, logged, field.Name)
	}
}

// setNonZero sets a value, and all fields of a struct, to something other than zero.
func setNonZero(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		setNonZero(t, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			setNonZero(t, v.Field(i))
		}
	default:
		require.Fail(t, "set a value of this kind too", "%v", v.Kind())
	}
}
