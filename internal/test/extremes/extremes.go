// Package extremes provides values with numbers at the limits of their types, for tests, and says how much of a sweep a
// test tries.
package extremes

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Ints and Floats are the numbers that fields are set to.
var (
	Ints   = []int{math.MaxInt, math.MaxInt - 1, math.MaxInt32 + 1, math.MinInt, -1, 0}
	Floats = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1, 0}
)

// All reports whether sweeps are tried whole, as in .ci/long, which sets PROMPTREE_TESTS=all. Otherwise they are tried at
// their extremes.
func All() bool { return os.Getenv("PROMPTREE_TESTS") == "all" }

// Cases returns the number of cases of a random sweep: n, or a quarter of it unless [All] does.
func Cases(n int) int {
	if All() {
		return n
	}
	return max(1, n/4)
}

// FuzzSeeds fuzzes a check of what a seed draws, from the first n seeds on.
func FuzzSeeds(f *testing.F, n uint64, check func(t *testing.T, seed uint64)) {
	for seed := range n {
		f.Add(seed)
	}
	f.Fuzz(check)
}

// Each calls check with copies of a value. In each copy one exported number is replaced by an extreme: an int, an
// int64, a float64 or a type based on one, in structs, slices and interfaces and behind pointers. field is the path of
// the number, such as "Cut.Tokens".
func Each[T any](value T, check func(field string, number any, changed T)) {
	each(reflect.ValueOf(&value).Elem(), "", func(field string, number any, changed reflect.Value) {
		check(field, number, changed.Interface().(T))
	})
}

// each calls put with each changed copy of v.
func each(v reflect.Value, path string, put func(field string, number any, changed reflect.Value)) {
	// inner calls put with copies of v in which set changes a part.
	inner := func(part reflect.Value, path string, set func(whole, part reflect.Value)) {
		each(part, path, func(field string, number any, changed reflect.Value) {
			whole := reflect.New(v.Type()).Elem()
			whole.Set(v)
			set(whole, changed)
			put(field, number, whole)
		})
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		for _, n := range Ints {
			put(path, n, reflect.ValueOf(n).Convert(v.Type()))
		}
	case reflect.Float64:
		for _, n := range Floats {
			put(path, n, reflect.ValueOf(n).Convert(v.Type()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				inner(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."), func(whole, part reflect.Value) { whole.Field(i).Set(part) })
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			inner(v.Elem(), path, func(whole, part reflect.Value) { whole.Set(part) })
		}
	case reflect.Pointer:
		if !v.IsNil() {
			inner(v.Elem(), path, func(whole, part reflect.Value) {
				whole.Set(reflect.New(part.Type()))
				whole.Elem().Set(part)
			})
		}
	case reflect.Slice:
		for i := range v.Len() {
			inner(v.Index(i), fmt.Sprintf("%s[%d]", path, i), func(whole, part reflect.Value) {
				whole.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
				whole.Index(i).Set(part)
			})
		}
	}
}
