# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""The query in docs/ledger.md gives the figures of a ledger: in DuckDB, of rows loaded twice, as NDJSON and through Parquet."""

import json
import os
import re

from support import hawk, ledger_model, readers


def check(statements, what):
    answer = {row["signature"]: row for row in readers.read_with("duckdb.mjs", packages, *statements)}
    hawk.expect_equal(set(answer), set(wanted), f"{what}: signatures")
    for signature, row in wanted.items():
        found = answer.get(signature, {})
        hawk.expect_equal([int(found.get(key, -1)) for key in ("k", "median", "maximum")], list(row[:3]), f"{what}: {signature}")
        rate, theirs = row.bytes_per_hour, found.get("bytes_per_hour")
        hawk.expect((rate is None) == (theirs is None), f"{what}: whether there is a slope: {rate}, {theirs}")
        hawk.expect(rate is None or abs(float(theirs) - rate) <= 1e-6 * abs(rate) + 1e-6, f"{what}: slope {theirs} is {rate}")


packages = readers.packages()
folder = hawk.temporary_folder()
rows = [row for row in ledger_model.made_rows(300) if row["what"] == "live"]
wanted = ledger_model.model(rows)
path, parquet = os.path.join(folder, "rows.ndjson"), os.path.join(folder, "rows.parquet")
hawk.write(path, "".join(json.dumps(row) + "\n" for row in rows + rows[100:]))
query = re.search(r"```sql\n(.*?)```", hawk.read(os.path.join(hawk.SOURCE, "docs", "ledger.md")).decode(), re.S).group(1)
hawk.expect("'rows.ndjson'" in query, "the name of the file in the query")
check([query.replace("rows.ndjson", path)], "NDJSON")
check([f"COPY (SELECT * FROM read_json('{path}')) TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)",
       query.replace("read_json_auto('rows.ndjson')", f"'{parquet}'")], "Parquet")
hawk.finish()
