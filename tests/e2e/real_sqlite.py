# SPDX-License-Identifier: Apache-2.0
"""sqlite3: a database in memory, filled, indexed and asked."""

from support import hawk, real

SCRIPT = """
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into item select i, 'item ' || (i * 7919 % 20011), i * 0.25 from n;
create index item_name on item(name);
select count(*), sum(price), min(name), max(name) from item;
select name, price from item where name like 'item 19%' order by name limit 200;
select hex(group_concat(name)) from item where id % 100 = 0;
"""

folder = real.support()
sqlite = hawk.need("sqlite3")
real.same_output([sqlite, ":memory:"], "sqlite3", folder, stdin=SCRIPT)
core, _ = hawk.crash([sqlite, ":memory:", SCRIPT, ".shell kill -ABRT $PPID"],
                     hawk.tracer_environment(), folder)
real.check_core(core, "sqlite3", ["sqlite3Malloc"])
hawk.finish()
