-- What the tables need before they are made: extensions, and the functions of the event log. One of these functions is
-- the default of a column. `npm run db:generate` puts this file above the generated tables.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS unaccent;
--> statement-breakpoint
-- Transaction numbers begin again in another cluster (a dump that is restored, another major version) and after a
-- recovery to an earlier moment. An event's position is therefore its transaction's number plus a shift. Whoever writes
-- the first event in a cluster that is not the one in event_log chooses a new shift, in the transaction of that event.
--
-- The cluster and its timeline: both stay for as long as a server is the primary. A standby writes nothing and takes
-- what is recorded.
CREATE FUNCTION event_log_cluster() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RETURN (SELECT l.cluster FROM public.event_log l);
  END IF;
  RETURN (SELECT s.system_identifier::text FROM pg_control_system() s)
         || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
END $$;
--> statement-breakpoint
CREATE FUNCTION begin_event_log(here text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found_shift bigint;
  last_position bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(7310002);
  -- Another writer may have chosen it meanwhile.
  SELECT l.shift INTO found_shift FROM public.event_log l WHERE l.cluster = here;
  IF FOUND THEN
    RETURN found_shift;
  END IF;
  SELECT greatest(
    coalesce((SELECT e.xid::text::bigint FROM public.events e ORDER BY e.xid DESC, e.seq DESC LIMIT 1), 0),
    coalesce((SELECT max(c.xid::text::bigint) FROM public.checkpoints c), 0)) INTO last_position;
  IF NOT EXISTS (SELECT FROM public.event_log)
     AND last_position < pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN
    found_shift := 0;
  ELSE
    -- The next multiple of 2^40, and a random part: two copies of one backup give no position twice.
    found_shift := (((last_position >> 40) + 1) << 40) + floor(random() * 274877906944)::bigint;
  END IF;
  INSERT INTO public.event_log (cluster, shift) VALUES (here, found_shift)
    ON CONFLICT (id) DO UPDATE SET cluster = excluded.cluster, shift = excluded.shift, since = now();
  RETURN found_shift;
END $$;
--> statement-breakpoint
-- Remembered for the transaction, because a transaction may write thousands of events.
CREATE FUNCTION event_log_shift() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  remembered text := current_setting('frames.event_log_shift', true);
  here text;
  found_shift bigint;
BEGIN
  IF remembered <> '' THEN
    RETURN remembered::bigint;
  END IF;
  here := public.event_log_cluster();
  SELECT l.shift INTO found_shift FROM public.event_log l WHERE l.cluster = here;
  IF NOT FOUND THEN
    found_shift := public.begin_event_log(here);
  END IF;
  PERFORM set_config('frames.event_log_shift', found_shift::text, true);
  RETURN found_shift;
END $$;
--> statement-breakpoint
-- A transaction may get its number long before it writes an event: it locks one thing and then waits for another.
-- By its own number, its events would stand before those of the transaction that it waited for. So an event's position
-- is the newest transaction number in use when it is written, and events of one thing stand in the order of its lock.
-- It is never less than the number of its own transaction: what is open stays at or above the horizon, and what is
-- written later never comes below it.
CREATE FUNCTION event_log_position() RETURNS xid8 LANGUAGE plpgsql AS $$
BEGIN
  RETURN (public.event_log_shift() + greatest(
    pg_current_xact_id()::text::bigint,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1))::text::xid8;
END $$;
--> statement-breakpoint
-- Readers stop before this position: that of the oldest open transaction. In a cluster that has written no event yet,
-- every event came from elsewhere and can be read.
CREATE FUNCTION event_log_horizon() RETURNS xid8 LANGUAGE plpgsql STABLE AS $$
DECLARE
  found_shift bigint;
BEGIN
  SELECT l.shift INTO found_shift FROM public.event_log l WHERE l.cluster = public.event_log_cluster();
  IF NOT FOUND THEN
    RETURN '9223372036854775807'::xid8;
  END IF;
  RETURN (found_shift + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)::text::xid8;
END $$;
