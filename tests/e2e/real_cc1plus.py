# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""The C++ compiler: the same assembly from a generated, preprocessed source."""

import os
import signal

from support import hawk, real

SOURCE = """
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
"""
SOURCE += "".join(f"""
template <int N> struct Shape{i} {{ std::map<int, std::string> names; std::vector<int> v;
    int area(int k) {{ names[k] = std::to_string(k * N); v.push_back(k); std::sort(v.begin(), v.end());
        return static_cast<int>(names.size()) + v[0]; }} }};
int use{i}(int k) {{ Shape{i}<{i}> shape; return shape.area(k) + shape.area(k + {i}); }}
""" for i in range(20))
SOURCE += 'bool match(const std::string &s) { return std::regex_match(s, std::regex("a+b*c")); }\n'

folder = real.support()
compiler = hawk.need("g++")
with open(os.path.join(folder, "big.cpp"), "w", encoding="ascii") as file:
    file.write(SOURCE)
hawk.run([compiler, "-E", "-P", "big.cpp", "-o", "big.ii"], cwd=folder)
cc1plus = hawk.run([compiler, "-print-prog-name=cc1plus"]).stdout.strip()
if not os.path.exists(cc1plus):
    hawk.skip("no cc1plus")
COMMAND = [cc1plus, "-quiet", "-O2", "-g", "big.ii", "-o"]
real.same_output([*COMMAND, "/dev/stdout"], "cc1plus", folder)
core = real.core_while_writing([*COMMAND, "/dev/stdout"], "cc1plus", folder, signal.SIGQUIT)
real.check_core(core, "cc1plus", least_blocks=2000)
hawk.finish()
