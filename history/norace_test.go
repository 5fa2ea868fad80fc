//go:build !race

package history_test

const race = false
