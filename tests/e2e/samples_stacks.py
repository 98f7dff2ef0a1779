# SPDX-License-Identifier: Apache-2.0
"""Cores of the one-idea programs: what each was written for is in the answer."""

import os

from support import hawk


def analysis_of(name, *arguments, options=None):
    core, _ = hawk.crash([os.path.join(hawk.SAMPLES, name), *arguments],
                         hawk.tracer_environment(options=options), folder)
    if not core:
        return {"sites": [], "heap": {}}
    analysis = hawk.analyze(core) or {"sites": [], "heap": {}}
    hawk.check_counters(analysis, name)
    os.unlink(core)
    return analysis


def live_under(analysis, *functions):
    """Blocks and bytes of the sites that contain all of `functions` in this order, leaf first."""
    objects = size = 0
    for site in analysis["sites"]:
        rest = iter(hawk.functions_of(site))
        if all(any(function in name for name in rest) for function in functions):
            objects += site["inuse_objects"]
            size += site["inuse_bytes"]
    return objects, size


def check_leak():
    analysis = analysis_of("leak", "abort")
    hawk.expect_equal(live_under(analysis, "forget_block", "do_work", "main"), (100, 6400), "leak")


def check_list():
    analysis = analysis_of("list", "abort")
    hawk.expect_equal(live_under(analysis, "fill", "main"), (30000, 10000 * (24 + 72 + 31)), "list")


def check_inline():
    analysis = analysis_of("inline", "abort")
    hawk.expect_equal(live_under(analysis, "make_node", "build_tree", "main"), (50, 800), "inline")
    hawk.expect_equal(live_under(analysis, "make_node", "new_leaf", "build_tree")[0], 1, "leaf")


def check_templates():
    """The vector's own storage grows under add<7>, too, so only blocks of the right size count."""
    analysis = analysis_of("templates", "abort")
    for count, size in ((3, 48), (7, 112)):
        analysis_of_size = {"sites": [site for site in analysis["sites"]
                                      if site["inuse_bytes"] == size * site["inuse_objects"]]}
        hawk.expect_equal(
            live_under(analysis_of_size, f"pool::Store<std::pair<int, double> >::add<{count}>"),
            (10, 10 * size), f"add<{count}>")


def check_dlopen():
    """Every block belongs to the plugin that was there, though both had the same addresses."""
    analysis = analysis_of("dlopen", hawk.SAMPLES, "abort")
    for name, functions, first in (("red", ["red_inner", "plugin_make", "make_block"], 1000),
                                   ("blue", ["blue_inner", "blue_outer", "plugin_make"], 2000)):
        hawk.expect_equal(live_under(analysis, *functions), (20, 20 * first + 190), name)
        for site in analysis["sites"]:
            if f"{name}_inner" in hawk.functions_of(site):
                hawk.expect(site["frames"][0]["module"].endswith(f"plugin_{name}.so"),
                            f"{name}: module {site['frames'][0]['module']}")


def check_signals():
    analysis = analysis_of("signal_alloc", "abort")
    for outer, least in (("raise", 200), ("compute", 1)):
        objects, size = live_under(analysis, "allocate_in_handler", "on_signal", outer, "main")
        hawk.expect(objects >= least and size == 321 * objects, f"signals under {outer}: {objects}")


def check_fork():
    if not hawk.cores_are_files():
        print("fork: not tried, gdb would not stop in the child")
        return
    analysis = analysis_of_child("fork")
    hawk.expect_equal(live_under(analysis, "allocate_in_child", "live_in_child", "main"), (1, 1234),
                      "fork")


def analysis_of_child(name):
    """The child dies, the parent ends well: the core is the child's."""
    core, _ = hawk.crash([os.path.join(hawk.SAMPLES, name), "abort"], hawk.tracer_environment(),
                         folder, signals=(0, -1))
    if not core:
        return {"sites": []}
    return hawk.analyze(core) or {"sites": []}


def check_stacks():
    analysis = analysis_of("stacks", "abort")
    hawk.expect_equal(live_under(analysis, "allocate_here", "run_coroutine"),
                      (1600, 200 * sum(16 * i + 8 for i in range(8))), "coroutines")


def check_frames():
    analysis = analysis_of("frames", "abort")
    for functions, wanted in ((("keep", "recurse"), (1, 111)), (("keep", "jump"), (11, 2442)),
                              (("keep", "throw_from"), (11, 3663)),
                              (("keep", "use_alloca"), (10, 4440)), (("keep", "main"), None)):
        found = live_under(analysis, *functions)
        hawk.expect(wanted is None or found == wanted, f"{functions}: {found}")
    jumps = [hawk.functions_of(site).count("jump") for site in analysis["sites"]
             if "jump" in hawk.functions_of(site)]
    hawk.expect_equal(sorted(jumps), list(range(1, 12)), "depths of jump")


def check_depth():
    analysis = analysis_of("frames", "abort", options="depth=5")
    for site in analysis["sites"]:
        physical = [frame for frame in site["frames"] if not frame.get("inlined")]
        hawk.expect(len(physical) <= 5, f"depth=5: {len(physical)} frames")
    hawk.expect_equal(live_under(analysis, "keep", "recurse"), (1, 111), "recursion cut off")


def check_collapse():
    """jump() calls itself up to ten times from the same place: one of these frames is kept."""
    analysis = analysis_of("frames", "abort", options="collapse=2")
    jumps = sorted((hawk.functions_of(site).count("jump"), site["inuse_objects"])
                   for site in analysis["sites"] if "jump" in hawk.functions_of(site))
    hawk.expect_equal(jumps, [(1, 1), (2, 10)], "jumps with collapsed recursion")
    hawk.expect_equal(live_under(analysis, "keep", "recurse"), (1, 111), "recursion, collapsed")


def check_no_stacks():
    analysis = analysis_of("leak", "abort", options="stacks=0")
    hawk.expect_equal([len(site["frames"]) for site in analysis["sites"]], [0], "stacks=0")
    hawk.expect(analysis["sites"][0]["inuse_objects"] >= 100, "stacks=0: blocks")


def check_progname():
    core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "leak"), "abort"],
                         hawk.tracer_environment(options="progname=^another$"), folder)
    analysis = core and hawk.analyze(core)
    if analysis:
        hawk.expect_equal(live_under(analysis, "forget_block"), (0, 0), "progname=another")
    analysis = analysis_of("leak", "abort", options="progname=^lea")
    hawk.expect_equal(live_under(analysis, "forget_block")[0], 100, "progname=^lea")


folder = hawk.temporary_folder()
for check in (check_leak, check_list, check_inline, check_templates, check_dlopen, check_signals,
              check_fork, check_stacks, check_frames, check_depth, check_collapse, check_no_stacks,
              check_progname):
    check()
hawk.finish()
