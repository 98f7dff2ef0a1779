# SPDX-License-Identifier: Apache-2.0
# ctest: serial
"""PostgreSQL: initdb and queries through a traced server; a core of one backend."""

import os
import pwd
import shutil
import subprocess

from support import hawk, real

QUERIES = """
create table item(id int primary key, name text, price numeric);
insert into item select i, md5(i::text), i * 0.25 from generate_series(1, 20000) i;
create index on item(name);
analyze item;
select count(*), sum(price), min(name), max(name) from item;
select a.id, b.name from item a join item b on a.id = b.id * 7 order by 1 limit 50;
select string_agg(name, ',' order by name) from item where id % 500 = 0;
"""

folder = hawk.temporary_folder()
initdb, postgres, psql = hawk.need("initdb", "postgres", "psql")
USER = {}
if os.geteuid() == 0:
    try:
        account = pwd.getpwnam("postgres")
    except KeyError:
        hawk.skip("there is no user postgres")
    os.chown(folder, account.pw_uid, account.pw_gid)
    # the build may lie where only root can look
    hawk.TRACER = shutil.copy(hawk.TRACER, folder)
    os.chmod(hawk.TRACER, 0o755)
    USER = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
LOCALE = {"LC_ALL": "C", "HOME": folder, "PGUSER": "tester", "PGHOST": folder, "TZ": "UTC",
          "LD_LIBRARY_PATH": ""}


def execute(arguments, environment, **options):
    done = hawk.run(arguments, env=environment, cwd=folder, **USER, **options)
    hawk.expect_equal(done.returncode, 0, f"{arguments[0]}: {done.stderr[-800:]}")
    return done.stdout



def session(traced):
    data = os.path.join(folder, "traced" if traced else "plain")
    environment = (hawk.tracer_environment if traced else hawk.plain_environment)(extra=LOCALE)
    clean = hawk.plain_environment(extra=LOCALE)
    execute([initdb, "-D", data, "-A", "trust", "-U", "tester", "-N"], environment)
    port = hawk.free_port()
    clean["PGPORT"] = str(port)
    log = open(os.path.join(folder, "log"), "wb")
    server = subprocess.Popen([postgres, "-D", data, "-p", str(port), "-c", "listen_addresses=",
                               "-k", folder, "-c", "fsync=off"], env=environment, cwd=folder,
                              stdout=log, stderr=log, **USER)
    try:
        ask = [psql, "-X", "-A", "-q", "-d", "postgres"]
        if not hawk.wait_for(lambda: hawk.run([*ask, "-c", "select 1"], env=clean, cwd=folder,
                                              **USER).returncode == 0, 60, "postgres"):
            return None
        answers = execute([*ask, "-c", QUERIES], clean)
        if traced:
            check_backend(ask, clean)
        server.terminate()
        hawk.expect(server.wait(timeout=60) == 0, "exit code of postgres")
        return answers
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
        log.close()


def check_backend(ask, environment):
    """gcore of a backend that waits for its client's next query."""
    client = subprocess.Popen([*ask, "-t"], env=environment, cwd=folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, **USER)
    client.stdin.write("create temp table t as select i, repeat('x', i) from "
                       "generate_series(1, 500) i;\nselect pg_backend_pid();\n")
    client.stdin.flush()
    pid = next(line for line in client.stdout if line.strip())
    real.wait_until_idle(int(pid), "the backend")
    core = hawk.gcore(int(pid), folder)
    client.stdin.close()
    client.wait(timeout=30)
    client.stdout.close()
    real.check_core(core, "postgres", least_blocks=100)


alone = session(False)
traced = session(True)
hawk.expect(alone is not None and alone == traced, "answers of postgres differ")
hawk.finish()
