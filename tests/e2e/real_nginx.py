# SPDX-License-Identifier: Apache-2.0
# ctest: serial
"""nginx in the foreground, serving files over the loopback; and what holds the pools of its connections."""

import os
import signal
import socket
import subprocess
import urllib.request

from support import hawk, real, real_holders as holders

CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; gzip on; gzip_types text/plain;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}; root {folder}/files; autoindex on; }}
}}
"""
CONNECTIONS = 100


def fetch(port, path, headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""
    except OSError:
        return None


def core_with_connections(process, port):
    """A core with connections that have been answered and are kept alive."""
    clients = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(CONNECTIONS)]
    for client in clients:
        client.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(100)
    real.wait_until_idle(process.pid, "nginx")
    core = hawk.gcore(process.pid, folder)
    for client in clients:
        client.close()
    return core


def session(traced):
    """(answers, core if it is traced)"""
    port = hawk.free_port()
    path = hawk.write(os.path.join(folder, "nginx.conf"), CONFIGURATION.format(folder=folder, port=port))
    environment = hawk.tracer_environment() if traced else hawk.plain_environment()
    process = hawk.spawn([nginx, "-c", path, "-p", folder], env=environment, cwd=folder, stderr=subprocess.DEVNULL,
                         preexec_fn=hawk.allow_cores)
    if not hawk.wait_for(lambda: fetch(port, "/0.txt", {}), 30, "nginx"):
        return None, None
    answers = [fetch(port, f"/{i % 12}.txt", {"Accept-Encoding": "gzip"} if i % 3 else {}) for i in range(200)]
    answers.append(fetch(port, "/", {})[0])
    core = core_with_connections(process, port) if traced else None
    process.send_signal(signal.SIGQUIT)
    hawk.expect_equal(process.wait(timeout=30), 0, "exit code of nginx")
    return answers, core


def check_holders(core):
    """The cycle is a global; each connection that is kept has a pool, in the cycle's array."""
    holders.check_sums(core, "nginx")
    holders.check_screens(core, "nginx")
    holders.check_lost(core, "nginx", 0)
    holders.check_roots(core, "nginx", 0.9)
    found = holders.sql(core, "SELECT target FROM roots WHERE symbol = 'ngx_cycle'")
    hawk.expect_equal(len(found), 1, "pointers in ngx_cycle")
    groups = holders.tops(core, verb="merge-paths")
    hawk.expect(any(name.startswith("`ngx_cycle`") for _, name, _ in groups), f"{groups[:5]}")
    pools = holders.sql(core, "SELECT site, inuse_objects FROM sites WHERE " + holders.with_frames(
        "ngx_event_accept", "ngx_create_pool") + f" AND inuse_objects >= {CONNECTIONS}")
    if hawk.expect_equal(len(pools), 1, f"sites of pools: {pools}"):
        [(example,)] = holders.sql(core, f"SELECT min(address) FROM blocks WHERE site = '{pools[0][0]}'")
        holders.check_path(core, "nginx", example)


folder = hawk.temporary_folder()
nginx = hawk.need("nginx")
os.mkdir(os.path.join(folder, "files"))
os.chmod(folder, 0o755)
for i in range(10):
    hawk.write(os.path.join(folder, "files", f"{i}.txt"), f"line of file {i}\n" * (i * 1000 + 1))
alone, _ = session(False)
answered, dump = session(True)
hawk.expect(alone is not None and answered == alone, "answers of nginx differ")
if dump:
    check_holders(dump)
real.check_core(dump, "nginx", least_blocks=50)
hawk.finish()
