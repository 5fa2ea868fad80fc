package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/internal/wire"
)

func parse(t *testing.T, raw string) *wire.Object {
	t.Helper()
	o, err := wire.Parse(json.RawMessage(raw))
	require.NoError(t, err)
	return o
}

func TestWhatAFieldIsNotIsAnErrorThatNamesIt(t *testing.T) {
	for _, c := range []struct {
		rule, give string
		read       func(o *wire.Object)
		want       string
	}{
		{"a missing text", `{}`, func(o *wire.Object) { o.Text("a") }, "a is missing"},
		{"a text that is null", `{"a":null}`, func(o *wire.Object) { o.Text("a") }, "a: expected a text, found null"},
		{"an optional text may be null", `{"a":null}`, func(o *wire.Object) { o.OptionalText("a") }, ""},
		{"an optional text is still a text", `{"a":7}`, func(o *wire.Object) { o.OptionalText("a") }, "a: expected a text, found a number"},
		{"names are case-sensitive", `{"A":"x"}`, func(o *wire.Object) { o.Text("a") }, "a is missing"},
		{"a flag", `{"a":"yes"}`, func(o *wire.Object) { o.Flag("a") }, "a: expected true or false, found a text"},
		{"a count", `{"a":1.5}`, func(o *wire.Object) { o.Count("a") }, "a: 1.5 is not a whole number from 0 to 536870912"},
		{"an amount", `{"a":-1}`, func(o *wire.Object) { o.Amount("a") }, "a: -1 is not a number of 0 or more"},
		{"an object within", `{"a":{"b":[]}}`, func(o *wire.Object) { o.Object("a").Text("b") }, "a: b: expected a text, found a list"},
		{"an element", `{"a":[{"b":1},{"b":"x"}]}`, func(o *wire.Object) {
			o.Each("a", func(item *wire.Object) { item.Number("b") })
		}, "a: part 1: b: expected a number, found a text"},
		{"an element that is no object", `{"a":["x"]}`, func(o *wire.Object) { o.Each("a", func(*wire.Object) {}) }, "a: part 0: expected an object, found a text"},
		{"the first error stays", `{"a":1}`, func(o *wire.Object) { o.Text("a"); o.Text("b") }, "a: expected a text, found a number"},
		{"a list of another kind", `{"a":7}`, func(o *wire.Object) { o.Fail(wire.Each(o.Raw("a"), nil)) }, "not a list of parts"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o := parse(t, c.give)
			c.read(o)
			if c.want == "" {
				require.NoError(t, o.Err())
				return
			}
			require.EqualError(t, o.Err(), c.want)
		})
	}
}

func TestADamagedTextIsReadWithUFFFDForWhatIsMissing(t *testing.T) {
	o := parse(t, `{"a":[{"text":"x\ud83dy"}],"b":"z"}`)
	var got string
	o.Each("a", func(item *wire.Object) { got = item.Text("text") })
	require.Equal(t, "x\ufffdy", got)
	require.Equal(t, "z", o.Text("b"), "what comes after it is read too")
	require.NoError(t, o.Err())
}

func TestWhatWasNotReadIsKnown(t *testing.T) {
	o := parse(t, ` { "z" : [1, 2.50] , "a":"read", "n":null, "b" : {"x":12345678901234567890} , "a":"twice"}`)
	require.Equal(t, "twice", o.Text("a"), "the last of two fields counts")
	require.Equal(t, []string{"b", "z"}, o.Rest())
	require.Equal(t, `{"b":{"x":12345678901234567890},"z":[1, 2.50]}`, string(o.Remainder()))
	z := o.Raw("z")
	require.Equal(t, `{"b":{"x":12345678901234567890}}`, string(o.Remainder()))
	o.Put("z", z)
	require.Equal(t, []string{"b", "z"}, o.Rest())
	require.Equal(t, `{"x":12345678901234567890}`, o.Compact("b"))
	o.Skip("z")
	require.Nil(t, o.Remainder())
}

func TestTimesAreReadInTheFormsOfRecorders(t *testing.T) {
	want := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, given := range []string{`"2025-03-01T12:00:00Z"`, `"2025-03-01T13:00:00+01:00"`, `"2025-03-01T12:00:00"`, `1740830400000`, `1740830400`} {
		require.Equal(t, want, parse(t, `{"t":`+given+`}`).Time("t"), given)
	}
	for _, given := range []string{`"yesterday"`, `-1`, `999999999999`, `253402300800000`, `1e300`, `"0000-01-01T00:00:00+01:00"`, `"9999-12-31T23:59:59-01:00"`} {
		o := parse(t, `{"t":`+given+`}`)
		require.Zero(t, o.Time("t"), given)
		require.Equal(t, []string{"t"}, o.Rest())
	}
}

func TestAListHasALimit(t *testing.T) {
	o := parse(t, `{"a":[`+strings.TrimSuffix(strings.Repeat("{},", 1<<17+1), ",")+`]}`)
	o.Each("a", func(*wire.Object) {})
	require.ErrorContains(t, o.Err(), "a: more than 131072 parts")
}

// FuzzParse holds an object against what encoding/json makes of it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, ` {"a" : 1 , "b":[ ] }`, `{"a\"":"\\","\\":"\\\""}`, `{"a":{"b":[{"c":"]}"},-1.5e3 ,true,null]}}`, `{"a":1,"a":2}`, `[]`, `{"a":}`, "{\"\xff\":\"\xfe\"}",
		`{"a":[1,2 , "x",[[]],{"y":{}}]}`, "\t{\n\"a\"\r:\n\"b\"}\n", `{"\u0061\ud83d":"\ud83d\udc4d\ud83d"}`, `null`, ``, `{"a":0}x`, `{"k":"` + strings.Repeat(`\\`, 5) + `\""}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		err := json.Unmarshal(data, &want)
		o, got := wire.Parse(data)
		require.Equal(t, err == nil && want != nil, got == nil, "%v", got)
		if got != nil {
			return
		}
		for name, raw := range want {
			value := o.Look(name)
			if wire.KindOf(raw) == wire.KindNull {
				require.Nil(t, value)
				continue
			}
			require.Equal(t, string(raw), string(value))
			switch wire.KindOf(raw) {
			case wire.KindText:
				require.Equal(t, sure.Decode[string](t, raw), o.Text(name))
			case wire.KindList:
				list := sure.Decode[[]json.RawMessage](t, raw)
				values, err := wire.Values(value)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(list, values, cmp.Transformer("text", func(raw json.RawMessage) string { return string(raw) }), cmp.FilterValues(func(a, b []json.RawMessage) bool { return len(a)+len(b) == 0 }, cmp.Ignore())))
			}
		}
	})
}
