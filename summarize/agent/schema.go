package agent

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaOf returns the schema of the arguments of a function, and as they are checked.
func schemaOf[In any]() (schema *jsonschema.Schema, check *jsonschema.Resolved, err error) {
	defer func() { // the library's
		if p := recover(); p != nil {
			err = fmt.Errorf("no schema describes %v: %v", reflect.TypeFor[In](), p)
		}
	}()
	t := reflect.TypeFor[In]()
	d := describer{schemas: map[reflect.Type]*jsonschema.Schema{}}
	if t.Kind() != reflect.Struct || d.own(t) != nil {
		return nil, nil, fmt.Errorf("its type is %v: give a struct, whose fields say what there is", t)
	}
	if err := d.look(t, t.String()); err != nil {
		return nil, nil, err
	}
	if schema, err = jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: d.schemas}); err == nil {
		check, err = schema.Resolve(nil)
	}
	return schema, check, err
}

// portable returns a schema of which every provider takes the keywords. What some of them refuse, the descriptions say.
func portable(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	c := *s
	note := func(format string, v any) {
		c.Description = strings.TrimPrefix(c.Description+"; "+fmt.Sprintf(format, v), "; ")
	}
	if s.Minimum != nil {
		note("at least %.0f", *s.Minimum)
	}
	if s.Maximum != nil {
		note("at most %.0f", *s.Maximum)
	}
	if s.MinItems != nil { // of an array, which has as many
		note("%d items", *s.MinItems)
	}
	if s.ContentEncoding != "" {
		note("in %s", s.ContentEncoding)
	}
	c.Minimum, c.Maximum, c.MinItems, c.MaxItems, c.ContentEncoding = nil, nil, nil, nil, ""
	if len(c.Types) == len(anyJSON) {
		c.Types = nil
	}
	if c.Properties != nil {
		c.Properties = map[string]*jsonschema.Schema{}
		for name, p := range s.Properties {
			c.Properties[name] = portable(p)
		}
	}
	c.Items, c.AdditionalProperties = portable(s.Items), portable(s.AdditionalProperties)
	return &c
}

// anyJSON are all types of JSON.
var anyJSON = []string{"null", "boolean", "number", "string", "array", "object"}

// describer finds the types whose JSON is not what the library for schemas takes it for, and those that have none.
type describer struct {
	schemas map[reflect.Type]*jsonschema.Schema
	within  []reflect.Type // the types around the one that is looked at
}

var errItself = errors.New("it contains itself: no schema describes it; use json.RawMessage or any for the inner one")

// own returns the schema of a type that encodes itself, or whose encoding depends on more than its kind; nil for any other.
func (d *describer) own(t reflect.Type) *jsonschema.Schema {
	implements := func(i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) }
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return nil
	case implements(reflect.TypeFor[json.Unmarshaler]()): // json.RawMessage too
		return &jsonschema.Schema{Types: slices.Clone(anyJSON)} // the library adds null to a pointer's types
	case implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}

// look looks at a type that is at a place.
func (d *describer) look(t reflect.Type, place string) error {
	if s := d.own(t); s != nil {
		d.schemas[t] = s
		return nil
	}
	if t.Name() != "" {
		if slices.Contains(d.within, t) {
			return fmt.Errorf("%s is a %v: %w", place, t, errItself)
		}
		d.within = append(d.within, t)
		defer func() { d.within = d.within[:len(d.within)-1] }()
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return d.look(t.Elem(), place)
	case reflect.Map:
		if t.Key().Kind() != reflect.String || d.own(t.Key()) != nil {
			return fmt.Errorf("%s is a %v: no schema describes its keys: use strings", place, t)
		}
		if err := d.look(t.Elem(), place); err != nil {
			return err
		}
		values, err := jsonschema.ForType(t.Elem(), &jsonschema.ForOptions{TypeSchemas: d.schemas})
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		d.schemas[t] = &jsonschema.Schema{Types: []string{"null", "object"}, AdditionalProperties: values} // null, as for slices
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%s is a %v: no value of an interface with methods can be decoded: use a type without them", place, t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%s is a %v: JSON has no such value: leave it out by json:\"-\"", place, t)
	case reflect.Struct:
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case !f.IsExported() && !f.Anonymous, name == "-" && options == "":
				continue
			case slices.Contains(strings.Split(options, ","), "string"):
				return fmt.Errorf("%s.%s has the option string, which no schema describes: leave it out", place, f.Name)
			}
			if err := d.look(f.Type, place+"."+f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
