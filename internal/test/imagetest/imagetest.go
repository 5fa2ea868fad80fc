// Package imagetest makes images of given sizes for tests.
package imagetest

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// DataURL returns a data URL of a file.
func DataURL(mediaType string, file []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(file)
}

// PNG returns a data URL of a PNG of the given width and height, in pixels. The file has only the header.
func PNG(width, height int) string {
	be := binary.BigEndian
	chunk := be.AppendUint32([]byte("IHDR"), uint32(width))
	chunk = be.AppendUint32(chunk, uint32(height))
	chunk = append(chunk, 8, 6, 0, 0, 0)
	file := be.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), uint32(len(chunk)-4))
	file = append(file, chunk...)
	file = be.AppendUint32(file, crc32.ChecksumIEEE(chunk))
	return DataURL("image/png", append(file, make([]byte, 100)...))
}
