# SPDX-License-Identifier: Apache-2.0
# ctest: serial
"""nginx in the foreground, serving files over the loopback."""

import os
import signal
import subprocess
import urllib.request

from support import hawk, real

CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off; gzip on; gzip_types text/plain;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}; root {folder}/files; autoindex on; }}
}}
"""


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


def session(nginx, folder, traced):
    port = hawk.free_port()
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CONFIGURATION.format(folder=folder, port=port))
    environment = hawk.tracer_environment() if traced else hawk.plain_environment()
    process = subprocess.Popen([nginx, "-c", path, "-p", folder], env=environment, cwd=folder,
                               stderr=subprocess.DEVNULL, preexec_fn=hawk.allow_cores)
    try:
        if not hawk.wait_for(lambda: fetch(port, "/0.txt", {}), 30, "nginx"):
            return None, None
        answers = [fetch(port, f"/{i % 12}.txt", {"Accept-Encoding": "gzip"} if i % 3 else {})
                   for i in range(200)]
        answers.append(fetch(port, "/", {})[0])
        real.wait_until_idle(process.pid, "nginx")
        core = hawk.gcore(process.pid, folder) if traced else None
        process.send_signal(signal.SIGQUIT)
        hawk.expect_equal(process.wait(timeout=30), 0, "exit code of nginx")
        return answers, core
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


folder = real.support()
nginx = hawk.need("nginx")
os.mkdir(os.path.join(folder, "files"))
os.chmod(folder, 0o755)
for i in range(10):
    with open(os.path.join(folder, "files", f"{i}.txt"), "w", encoding="ascii") as file:
        file.write(f"line of file {i}\n" * (i * 1000 + 1))
alone, _ = session(nginx, folder, False)
traced, core = session(nginx, folder, True)
hawk.expect(alone is not None and traced == alone, "answers of nginx differ")
real.check_core(core, "nginx", least_blocks=50)
hawk.finish()
