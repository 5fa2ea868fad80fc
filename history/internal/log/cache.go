package log

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// Cache holds the entries that were most recently read or appended, of all sessions that share it, within a number of
// bytes. The least recently used are dropped first. It is safe for concurrent use.
type Cache struct {
	most int

	mu    sync.Mutex
	bytes int
	byKey map[cacheKey]*list.Element
	order list.List // of *cached, the newest first
}

type cacheKey struct {
	session uint64
	at      storage.Position
}

type cached struct {
	key   cacheKey
	entry entry.Entry
	size  int
}

// NewCache returns a cache of at most that many bytes of lines.
func NewCache(bytes int) *Cache { return &Cache{most: bytes, byKey: map[cacheKey]*list.Element{}} }

// sharedCache is the cache of all sessions without one of their own.
var sharedCache = NewCache(64 << 20)

// sessions counts the sessions that were opened, to tell them apart in a cache.
var sessions atomic.Uint64

func (c *Cache) get(key cacheKey) (entry.Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return entry.Entry{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).entry, true
}

// put adds an entry whose line has that many bytes.
func (c *Cache) put(key cacheKey, e entry.Entry, line int) {
	const besides = 512 // memory of an entry besides its text
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[key])
	if line+besides > c.most {
		return
	}
	added := &cached{key, e, line + besides}
	c.byKey[key] = c.order.PushFront(added)
	for c.bytes += added.size; c.bytes > c.most && c.order.Len() > 0; {
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
