package main

import (
	"context"
	"net"
	"sync/atomic"
)

// wire counts the traffic of connections to the database.
type wire struct {
	sent, received atomic.Int64 // bytes
	trips          atomic.Int64 // requests that were answered
}

// dial connects as pgx does.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, wire: w}, nil
}

type wireConn struct {
	net.Conn
	wire  *wire
	asked atomic.Bool
}

func (c *wireConn) Write(p []byte) (int, error) {
	c.asked.Store(true)
	n, err := c.Conn.Write(p)
	c.wire.sent.Add(int64(n))
	return n, err
}

func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wire.received.Add(int64(n))
	if n > 0 && c.asked.Swap(false) {
		c.wire.trips.Add(1)
	}
	return n, err
}
