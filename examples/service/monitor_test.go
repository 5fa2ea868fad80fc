package main

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAProcessWithOnlyWorkersCanBeMonitored(t *testing.T) {
	at := inPostgres(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	worker := begin(t, at, "-serve=false", "-monitor", address)
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n", "/metrics": "promptree_step_seconds_count 0"} {
		var body []byte
		require.Eventually(t, func() bool {
			response, err := http.Get("http://" + address + path)
			if err != nil {
				return false
			}
			defer response.Body.Close()
			body, err = io.ReadAll(response.Body)
			return err == nil && response.StatusCode == http.StatusOK
		}, 20*time.Second, 10*time.Millisecond, path)
		require.Contains(t, string(body), want)
	}
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, worker.stop())
	_, err = net.Dial("tcp", address)
	require.Error(t, err, "it stops with the process")
}
