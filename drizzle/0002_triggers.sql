-- One wake-up per transaction: PostgreSQL folds equal notifications of a transaction into one.
CREATE FUNCTION wake_consumers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('events', '');
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER events_wake AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION wake_consumers();
--> statement-breakpoint
-- No event is ever edited or taken back.
CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events are append-only';
END $$;
--> statement-breakpoint
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse_event_change();

--> statement-breakpoint
-- A save changes its frame's count: room on the page keeps that from touching the indexes.
ALTER TABLE frames SET (fillfactor = 75);
