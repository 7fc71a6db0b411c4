-- An account whose share an operator ended was counted as active on that day. The projection counts again from the
-- beginning of the log.
DELETE FROM "checkpoints" WHERE "consumer" = 'analytics';
