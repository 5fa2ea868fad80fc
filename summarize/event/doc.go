// Package event holds the events of a compactor: what it reports to those who listen, step by step.
package event
