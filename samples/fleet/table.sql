-- SPDX-License-Identifier: Apache-2.0
-- The rows of docs/schema/row-1.json. Each shard keeps its snapshots twice; snapshot_id chooses the shard, so that the
-- rows of one snapshot lie side by side however often it is loaded.
CREATE DATABASE IF NOT EXISTS fleet;
CREATE TABLE IF NOT EXISTS fleet.rows_of_shard
(
	snapshot_id String,
	time Nullable(String),
	host Nullable(String),
	service Nullable(String),
	build_id Nullable(String),
	uptime_seconds Nullable(Float64),
	what String,
	site Nullable(String),
	signature String,
	stack Array(String),
	inuse_objects Nullable(Int64),
	inuse_bytes Int64,
	alloc_objects Nullable(Int64),
	alloc_bytes Nullable(Int64),
	verdict Nullable(String)
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/rows', '{replica}')
PARTITION BY tuple()
ORDER BY (snapshot_id, signature);
CREATE TABLE IF NOT EXISTS fleet.rows AS fleet.rows_of_shard
ENGINE = Distributed(fleet, fleet, rows_of_shard, cityHash64(snapshot_id));
