-- Checkpoints of the shards, and what the crawl is. Nothing here is here alone: all of it can be had from the logs.

CREATE TABLE meta (
  -- One row.
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- 32 hexadecimal digits; that of the logs.
  crawl_id TEXT NOT NULL,
  -- Milliseconds since 1970.
  created_ms INTEGER NOT NULL,
  -- Of the program that created the crawl.
  version TEXT NOT NULL
) STRICT;

CREATE TABLE checkpoints (
  shard INTEGER NOT NULL,
  -- Of the last record that the state holds; the place is behind it.
  sequence INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  position INTEGER NOT NULL,
  -- Time of that record, milliseconds since 1970.
  time_ms INTEGER NOT NULL,
  -- Of the state, 32 hexadecimal digits.
  digest TEXT NOT NULL,
  -- Of the image, relative to the shard's directory.
  path TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  -- 1 = it knows more than the log holds, and is out of use.
  is_aside INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (shard, sequence)
) STRICT, WITHOUT ROWID;
