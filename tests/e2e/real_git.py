# SPDX-License-Identifier: Apache-2.0
"""git: log with patches and a repack of a history made for the purpose."""

import os
import signal
import subprocess

from support import hawk, real

WHO = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A",
       "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
       "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/",
       "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"}


def make_history(git, path):
    """400 commits by fast-import, the lines of a few files changing back and forth."""
    stream = []
    for number in range(400):
        name = f"file{number % 7}.txt"
        text = "".join(f"line {i * number % 311} of {name}\n" for i in range(200))
        stream.append("commit refs/heads/main\n"
                      f"committer A <a@example.org> {1700000000 + number} +0000\n"
                      f"data {len(str(number))}\n{number}\n"
                      f"M 644 inline {name}\ndata {len(text)}\n{text}\n")
    subprocess.run([git, "init", "-q", "-b", "main", path], env=hawk.plain_environment(extra=WHO),
                   check=True)
    subprocess.run([git, "fast-import", "--quiet"], cwd=path, input="".join(stream), text=True,
                   env=hawk.plain_environment(extra=WHO), check=True)


folder = hawk.temporary_folder()
git = hawk.need("git")
repository = os.path.join(folder, "repository")
make_history(git, repository)
real.same_output([git, "log", "-p", "--stat"], "git log", repository, extra=WHO)
real.same_output([git, "rev-list", "--objects", "--all"], "git rev-list", repository, extra=WHO)
for environment in (hawk.plain_environment(extra=WHO), hawk.tracer_environment(extra=WHO)):
    done = hawk.run([git, "-c", "pack.threads=4", "repack", "-adfq"], env=environment,
                    cwd=repository)
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), "git repack")
real.same_output([git, "cat-file", "--batch-all-objects", "--batch-check"], "git cat-file", repository, extra=WHO)
core = real.core_while_writing([git, "log", "-p", "--stat"], "git log", repository,
                               signal.SIGABRT, extra=WHO)
real.check_core(core, "git log")
hawk.finish()
