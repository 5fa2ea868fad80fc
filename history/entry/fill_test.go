package entry_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// bodies has one body of each type.
var bodies = []entry.Body{
	entry.Message{}, entry.Shell{}, entry.CustomMessage{}, entry.Compaction{}, entry.BranchSummary{}, entry.Branch{}, entry.Custom{}, entry.Label{}, entry.ModelChange{}, entry.ThinkingChange{},
	entry.Todos{}, entry.Usage{}, entry.Clearing{}, entry.Preamble{}, entry.Plan{}, entry.PlanEnd{}, entry.Refusal{}, entry.Erasure{}, entry.Pin{}, entry.Unknown{},
}

// allParts has one part of each type.
var allParts = chat.Parts{chat.Text(""), chat.Image{}, chat.Document{}, chat.Thinking{}, chat.Opaque{}, chat.CacheBreakpoint{}}

func TestEachTypeOfBodyAndPartIsTested(t *testing.T) {
	types := func(path, method string) int {
		return strings.Count(string(sure.Read(t, path)), ") "+method+"()")
	}
	require.Len(t, bodies, types("body.go", "bodyType"))
	require.Len(t, allParts, types("../../elements/chat/part.go", "part"))
}

func TestEachPartIsReadBackAsItWasWritten(t *testing.T) {
	for _, p := range allParts {
		m := chat.Message{Role: chat.RoleUser, Content: chat.Parts{filled(secretive(), p)}}
		data, err := json.Marshal(m)
		require.NoError(t, err)
		var back chat.Message
		require.NoError(t, json.Unmarshal(data, &back), "%T", p)
		require.Equal(t, m, back)
	}
}

// filler fills all fields of values of any type, so that new fields are tested too.
type filler struct {
	text   func() string
	json   func() json.RawMessage
	parts  func() chat.Parts
	role   func() chat.Role
	time   func() time.Time
	number func() int
	float  func() float64
	length func() int // of a list; below 0 for nil
}

// filled returns a value of the type of another, with all its fields filled.
func filled[T any](f *filler, like T) T {
	v := reflect.New(reflect.TypeOf(like)).Elem()
	f.fill(v)
	return v.Interface().(T)
}

func (f *filler) fill(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*p = f.json()
		return
	case *chat.Parts:
		*p = f.parts()
		return
	case *chat.Role:
		*p = f.role()
		return
	case *time.Time:
		*p = f.time()
		return
	case *entry.Retained: // filled in by the session
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.number()))
	case reflect.Float64:
		v.SetFloat(f.float())
	case reflect.Bool:
		v.SetBool(f.number()%2 != 0)
	case reflect.Slice:
		if n := f.length(); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				f.fill(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic("cannot fill a " + v.Type().String())
	}
}
