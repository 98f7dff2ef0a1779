# SPDX-License-Identifier: Apache-2.0
"""For gdb: every frame of every thread of the core that is loaded, one line each, innermost first:
"hawk threads", then "thread LWP" and "frame PC SP NAME" by turns; inlined frames, and those that gdb
infers from tail calls, are left out."""

import gdb

print("\nhawk threads")
for thread in sorted(gdb.selected_inferior().threads(), key=lambda one: one.num):
    thread.switch()
    print("thread", thread.ptid[1] or thread.ptid[2])
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            stack = int(frame.read_register("rsp")) & (1 << 64) - 1
            print("frame", hex(frame.pc()), hex(stack), frame.name() or "??")
        frame = frame.older()
