package postgrestest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pooler starts a PgBouncer in front of the cluster, which pools transactions over the given number of connections and
// ends with the test. It returns the URL of a database behind it. The test is skipped if PgBouncer is not installed or
// [Env] names the cluster.
func (c *Cluster) Pooler(t testing.TB, connections int) (address string) {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if sbin := "/usr/sbin/pgbouncer"; err != nil {
		if _, err = os.Stat(sbin); err == nil {
			path = sbin
		}
	}
	if err != nil || c.dir == "" {
		t.Skip("there is no PgBouncer: install the package pgbouncer, and unset " + Env)
	}
	const port = 6432 // of a socket in the cluster's own folder
	users, config := filepath.Join(c.dir, "users"), filepath.Join(c.dir, "pgbouncer.ini")
	settings := []string{
		"[databases]", "* = host=" + c.dir + " user=test", "[pgbouncer]", "pool_mode = transaction", "auth_type = any",
		"listen_addr =", "unix_socket_dir = " + c.dir, fmt.Sprintf("listen_port = %d", port), "auth_file = " + users,
		fmt.Sprintf("default_pool_size = %d", connections), "max_client_conn = 500", "ignore_startup_parameters = extra_float_digits,search_path",
	}
	require.NoError(t, errors.Join(os.WriteFile(users, nil, 0o644), os.WriteFile(config, []byte(strings.Join(settings, "\n")+"\n"), 0o644)))
	cmd := exec.Command(path, "-q", config)
	asOther(cmd)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	socket := filepath.Join(c.dir, fmt.Sprintf(".s.PGSQL.%d", port))
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "PgBouncer does not answer")
	return "postgres:///postgres?" + url.Values{"host": {c.dir}, "port": {fmt.Sprint(port)}, "user": {"test"}}.Encode()
}
