# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: long
"""The C++ compiler: the same assembly from a generated, preprocessed source; and what holds its tables."""

import os
import signal

from support import hawk, real, real_holders as holders

SOURCE = "".join(f"#include <{name}>\n" for name in ("algorithm", "map", "regex", "string", "vector"))
SOURCE += "".join(f"""
template <int N> struct Shape{i} {{ std::map<int, std::string> names; std::vector<int> v;
    int area(int k) {{ names[k] = std::to_string(k * N); v.push_back(k); std::sort(v.begin(), v.end());
        return static_cast<int>(names.size()) + v[0]; }} }};
int use{i}(int k) {{ Shape{i}<{i}> shape; return shape.area(k) + shape.area(k + {i}); }}
""" for i in range(20))
SOURCE += 'bool match(const std::string &s) { return std::regex_match(s, std::regex("a+b*c")); }\n'


def check_holders(core):
    """Trees lie in pages of the compiler's own collector; its tables are held by variables."""
    _, size = holders.check_sums(core, "cc1plus")
    holders.check_screens(core, "cc1plus")
    holders.check_lost(core, "cc1plus", size // 100)
    holders.check_roots(core, "cc1plus", 0.4)
    groups = holders.tops(core, verb="merge-paths")
    hawk.expect("cc1plus" in groups[0][1], f"{groups[:4]}")
    [(largest,)] = holders.sql(core, "SELECT address FROM blocks ORDER BY size DESC LIMIT 1")
    holders.check_path(core, "cc1plus", largest)


folder = hawk.temporary_folder()
compiler = hawk.need("g++")
hawk.write(os.path.join(folder, "big.cpp"), SOURCE)
hawk.run([compiler, "-E", "-P", "big.cpp", "-o", "big.ii"], cwd=folder)
cc1plus = hawk.run([compiler, "-print-prog-name=cc1plus"]).stdout.strip()
if not os.path.exists(cc1plus):
    hawk.skip("no cc1plus")
COMMAND = [cc1plus, "-quiet", "-O2", "-g", "big.ii", "-o", "/dev/stdout"]
real.same_output(COMMAND, "cc1plus", folder)
dump = real.core_while_writing(COMMAND, "cc1plus", folder, signal.SIGQUIT)
if dump:
    check_holders(dump)
real.check_core(dump, "cc1plus", least_blocks=2000)
hawk.finish()
