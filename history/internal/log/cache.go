package log

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/history/storage"
)

// Cache holds the entries that were most recently read or appended, and what was made of them ([Log.Kept]), of all sessions
// that share it, within a number of bytes. The least recently used are dropped first. It is safe for concurrent use.
type Cache struct {
	most int

	mu    sync.Mutex
	bytes int
	byKey map[cacheKey]*list.Element
	order list.List // of *cached, the newest first
}

type cacheKey struct {
	session uint64
	at      storage.Position // ofSession for what was made of the session's entries
}

const ofSession storage.Position = -1

type cached struct {
	key   cacheKey
	value any // an entry, or what was made of entries
	size  int
}

// NewCache returns a cache of at most that many bytes of lines.
func NewCache(bytes int) *Cache { return &Cache{most: bytes, byKey: map[cacheKey]*list.Element{}} }

// sharedCache is the cache of all sessions without one of their own.
var sharedCache = NewCache(64 << 20)

// sessions counts the sessions that were opened, to tell them apart in a cache.
var sessions atomic.Uint64

func (c *Cache) get(key cacheKey) (value any, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).value, true
}

// put adds a value of that many bytes.
func (c *Cache) put(key cacheKey, value any, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[key])
	if size > c.most {
		return
	}
	c.byKey[key] = c.order.PushFront(&cached{key, value, size})
	for c.bytes += size; c.bytes > c.most && c.order.Len() > 0; {
		c.remove(c.order.Back())
	}
}

func (c *Cache) remove(e *list.Element) {
	if e == nil {
		return
	}
	old := c.order.Remove(e).(*cached)
	delete(c.byKey, old.key)
	c.bytes -= old.size
}

// forget drops all entries of a session.
func (c *Cache) forget(session uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.byKey {
		if key.session == session {
			c.remove(e)
		}
	}
}
