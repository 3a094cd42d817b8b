-- Bytes of the bodies in the timeline, so that a run's share of the store has an end in bytes too.
ALTER TABLE attempts ADD COLUMN event_bytes BIGINT NOT NULL DEFAULT 0;

-- Since when the pod of an ended attempt that holds its session is known to be absent.
ALTER TABLE attempts ADD COLUMN pod_absent_since BIGINT;
