-- A transaction may get its number long before it writes an event: it locks one thing and then waits for another. Its events stood
-- before those of the transaction it had waited for. An event's position is now the newest transaction number that has been used
-- when it is written, so that events of one thing stand in the order of its lock. It is never less than the number of its own
-- transaction: what is open stays at or above the horizon, and what is written later never comes below it.
CREATE OR REPLACE FUNCTION event_log_position() RETURNS xid8 LANGUAGE plpgsql AS $$
BEGIN
  RETURN (public.event_log_shift() + greatest(
    pg_current_xact_id()::text::bigint,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1))::text::xid8;
END $$;
