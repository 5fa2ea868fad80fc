package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/event"
)

// metrics are the metrics of this process. Their labels have fixed sets of values, none of which a tenant chooses.
type metrics struct {
	http.Handler
	registry    *prometheus.Registry
	steps       *prometheus.CounterVec
	seconds     prometheus.Histogram
	compactions *prometheus.CounterVec
	used        *prometheus.CounterVec
	requests    *prometheus.CounterVec
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "promptree", Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		steps:    counter("steps_total", "Steps that ended, by outcome.", "outcome"),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "promptree", Name: "step_seconds", Help: "Time from a message to the end of its answer.", Buckets: prometheus.ExponentialBuckets(0.005, 4, 9),
		}),
		compactions: counter("compactions_total", "Compactions that ended.", "outcome", "reason"),
		used:        counter("tokens_total", "Tokens reported by the model for answers.", "kind"),
		requests:    counter("http_requests_total", "Requests answered.", "route", "code"),
	}
	m.registry.MustRegister(m.steps, m.seconds, m.compactions, m.used, m.requests,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func (m *metrics) gauge(name, help string, value func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "promptree", Name: name, Help: help}, func() float64 { return float64(value()) }))
}

func (m *metrics) step(outcome string, took time.Duration) {
	m.steps.WithLabelValues(outcome).Inc()
	m.seconds.Observe(took.Seconds())
}

func (m *metrics) compaction(c compaction) {
	switch c.Kind {
	case event.Started, event.Waiting, event.Ready, event.HookFailed, event.ModelUnknown:
		return
	}
	m.compactions.WithLabelValues(string(c.Kind), string(c.Reason)).Inc()
}

func (m *metrics) tokens(u chat.Usage) {
	for kind, n := range map[string]int{"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite} {
		m.used.WithLabelValues(kind).Add(float64(n))
	}
}

func (m *metrics) request(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}
