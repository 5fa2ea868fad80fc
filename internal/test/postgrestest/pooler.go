package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoPooler is the error if there is no PgBouncer to test with.
var ErrNoPooler = errors.New("postgrestest: there is no PgBouncer: install the package pgbouncer, and unset " + Env)

// Pooler starts a PgBouncer in front of the cluster, which pools transactions over the given number of connections. It
// returns the URL of a database behind it and a function that ends it. The error is [ErrNoPooler] if PgBouncer is not
// installed or [Env] names the cluster.
func (c *Cluster) Pooler(ctx context.Context, connections int) (address string, stop func(), err error) {
	path, err := exec.LookPath("pgbouncer")
	if sbin := "/usr/sbin/pgbouncer"; err != nil {
		if _, err = os.Stat(sbin); err == nil {
			path = sbin
		}
	}
	if err != nil || c.dir == "" {
		return "", nil, ErrNoPooler
	}
	const port = 6432 // of a socket in the cluster's own folder
	users, config := filepath.Join(c.dir, "users"), filepath.Join(c.dir, "pgbouncer.ini")
	settings := []string{
		"[databases]", "* = host=" + c.dir + " user=test", "[pgbouncer]", "pool_mode = transaction", "auth_type = any",
		"listen_addr =", "unix_socket_dir = " + c.dir, fmt.Sprintf("listen_port = %d", port), "auth_file = " + users,
		fmt.Sprintf("default_pool_size = %d", connections), "max_client_conn = 500", "ignore_startup_parameters = extra_float_digits,search_path",
	}
	err = errors.Join(os.WriteFile(users, nil, 0o644), os.WriteFile(config, []byte(strings.Join(settings, "\n")+"\n"), 0o644))
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(path, "-q", config)
	asOther(cmd)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	socket := filepath.Join(c.dir, fmt.Sprintf(".s.PGSQL.%d", port))
	for {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			break
		}
		select {
		case <-ctx.Done():
			stop()
			return "", nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return "postgres:///postgres?" + url.Values{"host": {c.dir}, "port": {fmt.Sprint(port)}, "user": {"test"}}.Encode(), stop, nil
}
