# SPDX-License-Identifier: Apache-2.0
# ctest: serial
"""nginx and the C++ compiler: what holds their pools and tables."""

import os
import real_holders as holders
import signal
import socket
import subprocess

from support import hawk, real

CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""
CONNECTIONS = 100
SOURCE = "#include <map>\n#include <string>\n#include <vector>\n" + "".join(
    f"int use{i}(int k) {{ std::map<int, std::string> m; std::vector<int> v; "
    f"m[k] = std::to_string(k + {i}); v.push_back({i}); return m.size() + v[0]; }}\n"
    for i in range(60))


def connected(port):
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=10)
    except OSError:
        return None


def nginx_core(nginx):
    port = hawk.free_port()
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIGURATION.format(folder=folder, port=port))
    process = subprocess.Popen([nginx, "-c", path, "-p", folder], env=hawk.tracer_environment(),
                               cwd=folder, stderr=subprocess.DEVNULL,
                               preexec_fn=hawk.allow_cores)
    clients = []
    try:
        if not hawk.wait_for(lambda: connected(port), 30, "nginx"):
            return None
        for _ in range(CONNECTIONS):
            client = hawk.wait_for(lambda: connected(port), 30, "a connection")
            client.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
            client.recv(100)  # answered: the connection is kept alive
            clients.append(client)
        return hawk.gcore(process.pid, folder)
    finally:
        for client in clients:
            client.close()
        process.kill()
        process.wait()


def check_nginx():
    """The cycle is a global; each connection that is kept has a pool, in the cycle's array."""
    core = nginx_core(hawk.need("nginx"))
    if not core:
        return
    holders.check_sums(core, "nginx")
    holders.check_screens(core, "nginx")
    holders.check_lost(core, "nginx", 0)
    holders.check_roots(core, "nginx", 0.9)
    found = holders.sql(core, "SELECT target FROM roots WHERE symbol = 'ngx_cycle'")
    hawk.expect_equal(len(found), 1, "pointers in ngx_cycle")
    groups = holders.tops(core, verb="merge-paths")
    hawk.expect(any(name.startswith("`ngx_cycle`") for _, name, _ in groups), f"{groups[:5]}")
    # What accepting allocates, once for each connection
    pools = holders.sql(core, "SELECT site, inuse_objects FROM sites WHERE " + holders.with_frames(
        "ngx_event_accept", "ngx_create_pool") + f" AND inuse_objects >= {CONNECTIONS}")
    if hawk.expect_equal(len(pools), 1, f"sites of pools: {pools}"):
        example, = holders.sql(core, f"SELECT min(address) FROM blocks WHERE site = "
                               f"'{pools[0][0]}'")[0]
        holders.check_path(core, "nginx", example)


def check_compiler():
    """Trees lie in pages of the compiler's own collector; its tables are held by variables."""
    compiler = hawk.need("g++")
    with open(os.path.join(folder, "big.cpp"), "w", encoding="ascii") as file:
        file.write(SOURCE)
    hawk.run([compiler, "-E", "-P", "big.cpp", "-o", "big.ii"], cwd=folder)
    cc1plus = hawk.run([compiler, "-print-prog-name=cc1plus"]).stdout.strip()
    if not os.path.exists(cc1plus):
        hawk.skip("no cc1plus")
    core = real.core_while_writing([cc1plus, "-quiet", "-O1", "big.ii", "-o", "/dev/stdout"],
                                   "cc1plus", folder, signal.SIGQUIT)
    if not core:
        return
    objects, size = holders.check_sums(core, "cc1plus")
    print(f"cc1plus: {objects} blocks, {size} bytes", flush=True)
    holders.check_screens(core, "cc1plus")
    holders.check_lost(core, "cc1plus", size // 100)
    holders.check_roots(core, "cc1plus", 0.4)
    groups = holders.tops(core, verb="merge-paths")
    hawk.expect("cc1plus .bss" in groups[0][1] or "cc1plus" in groups[0][1], f"{groups[:4]}")
    largest, = holders.sql(core, "SELECT address FROM blocks ORDER BY size DESC LIMIT 1")[0]
    holders.check_path(core, "cc1plus", largest)


folder = real.support()
os.chmod(folder, 0o755)
check_nginx()
check_compiler()
hawk.finish()
