# SPDX-License-Identifier: Apache-2.0
"""The same programs with LeakSanitizer: per site, `leaks` calls as many blocks and bytes definitely
or indirectly lost as LeakSanitizer calls direct or indirect leaks; and outside of rings each of the
two is the same. Differences that have reasons (docs/leaks.md) are spelled out.
"""

import collections
import os
import re
import shutil

from support import hawk, leaks

# Every member of a ring is an indirect leak there: none of them is told to be the reason.
RINGS = {"site_ring", "site_double", "site_ring_with_tail", "site_partners", "site_lost_list",
         "site_lost_map"}

# Its malloc(0) is of one byte; memory that the program maps itself is no root there, and a pointer one past the end is none.
EXPLAINED = {"site_lost_empty": (1, 1), "site_mapped": (1, 160), "site_past_end": (1, 64)}


SYMBOLIZER = shutil.which("llvm-symbolizer") or hawk.need("addr2line")


def leak_sanitizer(name, folder):
    """{site: {"direct": (objects, bytes), "indirect": ...}}"""
    source, compiler, flags = leaks.BUILDS[name]
    clang = {"gcc": "clang", "g++": "clang++"}[compiler]
    program = hawk.compile_program(os.path.join(folder, f"lsan_{name}"), [source], clang,
                                   [*flags, "-fsanitize=leak"])
    done = hawk.run([program], cwd=folder,
                    env=hawk.plain_environment(
                        extra={"LSAN_OPTIONS": "detect_leaks=1:fast_unwind_on_malloc=0:"
                                               f"external_symbolizer_path={SYMBOLIZER}"}))
    if "LeakSanitizer has encountered a fatal error" in done.stderr:
        hawk.skip("LeakSanitizer may not stop its threads here")
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: (0, 0)))
    pattern = r"^(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\)"
    for paragraph in done.stderr.split("\n\n"):
        head = re.search(pattern, paragraph, re.M)
        site = leaks.site_of(re.findall(r"^ +#\d+ 0x[0-9a-f]+ in (\S+)", paragraph, re.M))
        if head and site:
            kind = head.group(1).lower()
            before = found[site][kind]
            found[site][kind] = (before[0] + int(head.group(3)), before[1] + int(head.group(2)))
    return {site: dict(kinds) for site, kinds in found.items()}


def total(kinds):
    return tuple(map(sum, zip((0, 0), *kinds)))


def compare(name, folder, core):
    theirs = leak_sanitizer(name, folder)
    ours = {site: {kind: sums for kind, sums in kinds.items() if kind in leaks.LOST}
            for site, kinds in leaks.by_site(core).items()}
    hawk.expect(len(theirs) > 4, f"{name}: LeakSanitizer names only {len(theirs)} sites")
    for site in sorted(set(theirs) | {site for site, kinds in ours.items() if kinds}):
        mine, other = ours.get(site, {}), theirs.get(site, {})
        if site in EXPLAINED:
            hawk.expect_equal(total(other.values()), EXPLAINED[site], f"{name}, {site}")
            continue
        hawk.expect_equal(total(mine.values()), total(other.values()), f"{name}, {site}")
        if site not in RINGS:
            hawk.expect_equal((mine.get("definitely_lost"), mine.get("indirectly_lost")),
                              (other.get("direct"), other.get("indirect")), f"{name}, {site}")


hawk.need("clang", "clang++")
if hawk.run(["clang", "-fsanitize=leak", "-x", "c", "-", "-o", "/dev/null"],
            input="int main(void) { return 0; }").returncode:
    hawk.skip("clang has no LeakSanitizer here")
for name, _, folder, core in leaks.programs(("c", "cxx")):
    compare(name, folder, core)
hawk.finish()
