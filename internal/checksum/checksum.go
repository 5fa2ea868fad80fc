// Package checksum puts a checksum at the end of a line of a log, which is a JSON object, and checks it. The checksum is
// the CRC-32C of the line's bytes before it. It shows that a line has changed by accident; whoever changes a line on
// purpose can write the checksum anew.
package checksum

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
)

var (
	// ErrNone is returned for a line that does not end in a checksum.
	ErrNone = errors.New("it does not end in a checksum: its end was lost or changed")
	// ErrWrong is returned for a line whose checksum is not that of its bytes.
	ErrWrong = errors.New("its checksum is not that of its bytes: some of them were changed")
)

// start is the start of the field that holds a checksum, of size bytes with the end of the line.
const (
	start = `,"crc":"`
	size  = len(start) + 8 + len(`"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// field appends the field of a checksum, and the end of the line.
func field(to, before []byte) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(before, castagnoli))
	return append(hex.AppendEncode(append(to, start...), sum[:]), `"}`...)
}

// Add returns a line with its checksum, as the last field of its object, which must have others. It may change what lies
// behind the line in its array.
func Add(line []byte) []byte {
	before := bytes.TrimSuffix(bytes.TrimSpace(line), []byte("}"))
	return field(before, before)
}

// Check returns [ErrNone] or [ErrWrong] unless a line ends in its checksum. Spaces may follow it.
func Check(line []byte) error {
	line = bytes.TrimRight(line, " ")
	at := len(line) - size
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(start)) {
		return ErrNone
	}
	var want [size]byte
	if !bytes.Equal(line[at:], field(want[:0], line[:at])) {
		return ErrWrong
	}
	return nil
}

// Cut returns a copy of a line that [Check] accepts, without its checksum.
func Cut(line []byte) []byte {
	line = bytes.TrimRight(line, " ")
	return append(bytes.Clone(line[:len(line)-size]), '}')
}
