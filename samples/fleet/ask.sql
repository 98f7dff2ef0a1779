-- SPDX-License-Identifier: Apache-2.0
-- What hawk-core ledger says of the same snapshots (docs/ledger.md). The innermost query counts a row once that was
-- loaded twice: a snapshot has one row for each site and stack. ClickHouse itself drops only whole blocks of rows that
-- were sent again as they were, which another cut of the same file is not.
SELECT
	signature,
	any(leaf) AS function,
	count() AS snapshots,
	arraySort(groupArray(size))[intDiv(count(), 2) + 1] AS median_bytes,
	max(size) AS maximum_bytes,
	if(count(hours) >= 3 AND varPop(hours) > 0, covarPop(hours, size) / varPop(hours), NULL) AS bytes_per_hour,
	argMin(build, at) AS first_build,
	argMax(build, at) AS last_build
FROM
(
	SELECT
		snapshot_id,
		signature,
		any(stack[-1]) AS leaf,
		sum(bytes) AS size,
		any(uptime) / 3600 AS hours,
		any(build_of) AS build,
		any(time_of) AS at
	FROM
	(
		SELECT
			snapshot_id,
			signature,
			site,
			stack,
			any(inuse_bytes) AS bytes,
			any(uptime_seconds) AS uptime,
			any(ifNull(build_id, '')) AS build_of,
			any(ifNull(time, '')) AS time_of
		FROM fleet.rows
		WHERE what = 'live'
		GROUP BY snapshot_id, signature, site, stack
	)
	GROUP BY snapshot_id, signature
	HAVING size != 0
)
GROUP BY signature
ORDER BY median_bytes DESC, signature
