# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""The query in docs/ledger.md gives the figures of a ledger: in DuckDB, of rows loaded twice, as NDJSON and through Parquet.
So does that of samples/fleet in a ClickHouse of today, if HAWK_CHDB is a folder that has npm's chdb (half a gigabyte)."""

import json
import os
import re

from support import hawk, ledger_model, readers


COLUMNS = ("snapshot_id String, time Nullable(String), build_id Nullable(String), uptime_seconds Nullable(Float64), "
           "what String, site Nullable(String), signature String, stack Array(String), inuse_bytes Int64")


def check(rows_found, keys, what):
    answer = {row["signature"]: row for row in rows_found}
    hawk.expect_equal(set(answer), set(wanted), f"{what}: signatures")
    for signature, row in wanted.items():
        found = answer.get(signature, {})
        hawk.expect_equal([int(found.get(key, -1)) for key in keys], list(row[:3]), f"{what}: {signature}")
        rate, theirs = row.bytes_per_hour, found.get("bytes_per_hour")
        hawk.expect((rate is None) == (theirs is None), f"{what}: whether there is a slope: {rate}, {theirs}")
        hawk.expect(rate is None or abs(float(theirs) - rate) <= 1e-6 * abs(rate) + 1e-6, f"{what}: slope {theirs} is {rate}")


DUCKDB_KEYS = ("k", "median", "maximum")
CHDB_KEYS = ("snapshots", "median_bytes", "maximum_bytes")
packages = readers.packages()
folder = hawk.temporary_folder()
rows = [row for row in ledger_model.made_rows(300) if row["what"] == "live"]
wanted = ledger_model.model(rows)
path, parquet = os.path.join(folder, "rows.ndjson"), os.path.join(folder, "rows.parquet")
hawk.write(path, "".join(json.dumps(row) + "\n" for row in rows + rows[100:]))
query = re.search(r"```sql\n(.*?)```", hawk.read(os.path.join(hawk.SOURCE, "docs", "ledger.md")).decode(), re.S).group(1)
hawk.expect("'rows.ndjson'" in query, "the name of the file in the query")
check(readers.read_with("duckdb.mjs", packages, query.replace("rows.ndjson", path)), DUCKDB_KEYS, "NDJSON")
check(readers.read_with("duckdb.mjs", packages,
                        f"COPY (SELECT * FROM read_json('{path}')) TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)",
                        query.replace("read_json_auto('rows.ndjson')", f"'{parquet}'")), DUCKDB_KEYS, "Parquet")
if "HAWK_CHDB" in os.environ:
    query = hawk.read(os.path.join(hawk.SOURCE, "samples", "fleet", "ask.sql")).decode()
    query = re.sub("^--.*", "", query, flags=re.M).replace("fleet.rows", f"file('{path}', JSONEachRow, '{COLUMNS}')")
    check(readers.read_with("chdb.mjs", os.path.join(os.environ["HAWK_CHDB"], "node_modules"), query), CHDB_KEYS, "chdb")
hawk.finish()
