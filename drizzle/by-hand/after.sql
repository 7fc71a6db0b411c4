-- What stands on the tables: triggers, storage and the read model. `npm run db:generate` puts this file below the
-- generated tables.
--
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
--> statement-breakpoint
-- A trigger, so that the count is right after a restore too. It counts again instead of adding, because a restored
-- board has its count before its pins. Who changes pins has locked their board.
CREATE FUNCTION count_board_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE boards b SET item_count = (SELECT count(*) FROM board_items i WHERE i.board_id = b.id)
   WHERE b.id IN (SELECT board_id FROM changed);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER board_items_added AFTER INSERT ON board_items REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_board_items();
--> statement-breakpoint
CREATE TRIGGER board_items_removed AFTER DELETE ON board_items REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_board_items();
--> statement-breakpoint
-- Compression would take a sixth of the time of a replay.
ALTER TABLE "analytics_uses" ALTER COLUMN "keys" SET STORAGE EXTERNAL, ALTER COLUMN "saves" SET STORAGE EXTERNAL,
	ALTER COLUMN "unsaves" SET STORAGE EXTERNAL, ALTER COLUMN "pins" SET STORAGE EXTERNAL,
	ALTER COLUMN "unpins" SET STORAGE EXTERNAL;
--> statement-breakpoint
-- The read model: everything the open reads answer from, rebuilt from the rows at any time. One schema per generation,
-- so that a rebuild fills a second one beside the live one and takes its place by renaming.
CREATE TABLE read_models (
  engine text PRIMARY KEY,
  generation uuid NOT NULL DEFAULT gen_random_uuid(),
  version bigint NOT NULL DEFAULT 0,
  -- A replica that must not be asked: its index is missing, emptied or of older settings.
  ready boolean NOT NULL DEFAULT true,
  -- How its words were cut (WORDS_VERSION): what was cut otherwise is written anew when the workers start.
  words integer NOT NULL DEFAULT 1,
  -- What its copying waits for, beside the outages of consumers in checkpoints.
  outage jsonb
);
--> statement-breakpoint
INSERT INTO read_models (engine) VALUES ('postgres');
--> statement-breakpoint
-- What frames like a given one are looked up by: the four 16-bit bands of the hash of the picture (two hashes within
-- seven bits share one, give or take a bit), and hashes of attributes taken together, negative. They stand beside the
-- colours in one index, so that both are intersected before a row is read.
CREATE FUNCTION alike_keys(phash bit, subject text, surface text, shot text, technique text, tone text)
RETURNS integer[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN ARRAY[
    substring(phash FROM 1 FOR 16)::bit(16)::integer,
    substring(phash FROM 17 FOR 16)::bit(16)::integer + 65536,
    substring(phash FROM 33 FOR 16)::bit(16)::integer + 131072,
    substring(phash FROM 49 FOR 16)::bit(16)::integer + 196608,
    hashtext(coalesce(subject, '') || ' ' || coalesce(surface, '') || ' ' || coalesce(shot, '')) | -2147483648,
    hashtext(coalesce(subject, '') || ' ' || coalesce(surface, '') || ' ' || tone) | -2147483648,
    hashtext('technique ' || coalesce(technique, '')) | -2147483648
  ];
END $$;
--> statement-breakpoint
CREATE FUNCTION create_read_model(target text) RETURNS void LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
  EXECUTE format('CREATE SCHEMA %I', target);
  PERFORM set_config('search_path', quote_ident(target) || ', public', true);
  -- What readers get, whole. A removed document stays as a row without one, so that a replica can follow by version.
  CREATE TABLE documents (
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    revision text NOT NULL,
    version bigint NOT NULL,
    doc json,
    PRIMARY KEY (kind, id)
  );
  -- What frames are found, ordered and counted by; narrow, because facets read all of it.
  CREATE TABLE frames (
    id text COLLATE "C" PRIMARY KEY,
    video_id text COLLATE "C" NOT NULL,
    t_ms integer NOT NULL,
    added_ms bigint NOT NULL,
    subject text COLLATE "C",
    surface text COLLATE "C",
    shot text COLLATE "C",
    technique text COLLATE "C",
    zone text COLLATE "C",
    tone text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    author text COLLATE "C",
    platform text COLLATE "C" NOT NULL,
    strength double precision NOT NULL,
    luma real NOT NULL,
    phash bit(64) NOT NULL,
    colors smallint[] NOT NULL,
    words tsvector NOT NULL,
    -- The bounds of its shot, for what follows what. Null where shots are not known.
    shot_ms integer[],
    -- The signs of its vector in the space of this generation. Null where it has none.
    bits bit varying
  );
  -- Whose vectors those are: a model and its number of dimensions. No row: none.
  CREATE TABLE space (name text NOT NULL);
  -- Videos, brands and techniques.
  CREATE TABLE entries (
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    strength double precision NOT NULL,
    added_ms bigint NOT NULL,
    author text COLLATE "C",
    platform text COLLATE "C",
    source_key text COLLATE "C",
    words tsvector NOT NULL,
    PRIMARY KEY (kind, id)
  );
  -- Every word there is, by where it stands: mistyped words and parts of words are looked up here, not in the
  -- documents.
  CREATE TABLE words (
    scope text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope, word)
  );
END $$;
--> statement-breakpoint
-- The indexes of a generation, as statements: a rebuild makes each in a transaction of its own, because an open one
-- holds up the readers of the event log.
CREATE FUNCTION read_model_indexes(target text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT format(definition, target) FROM (VALUES
    ('CREATE INDEX documents_version_idx ON %I.documents (version)'),
    -- A page of the wall deep behind a broad filter walks this index. With the attributes in it, the walk reads no
    -- frame.
    ('CREATE INDEX frames_newest_idx ON %I.frames (added_ms DESC, video_id, t_ms)' ||
     ' INCLUDE (id, subject, surface, shot, technique, zone, tone, kind, author, platform)'),
    ('CREATE INDEX frames_video_idx ON %I.frames (video_id, t_ms)'),
    ('CREATE INDEX frames_video_strength_idx ON %I.frames (video_id, strength DESC, id)'),
    ('CREATE INDEX frames_strength_idx ON %I.frames (strength DESC, id)'),
    ('CREATE INDEX frames_author_idx ON %I.frames (author, added_ms DESC, video_id, t_ms)'),
    ('CREATE INDEX frames_technique_idx ON %I.frames (technique, added_ms DESC, video_id, t_ms)'),
    ('CREATE INDEX frames_author_strength_idx ON %I.frames (author, strength DESC, id)'),
    ('CREATE INDEX frames_technique_strength_idx ON %I.frames (technique, strength DESC, id)'),
    ('CREATE INDEX frames_subject_idx ON %I.frames (subject)'),
    ('CREATE INDEX frames_surface_idx ON %I.frames (surface)'),
    ('CREATE INDEX frames_shot_idx ON %I.frames (shot)'),
    ('CREATE INDEX frames_zone_idx ON %I.frames (zone)'),
    ('CREATE INDEX frames_tone_idx ON %I.frames (tone)'),
    ('CREATE INDEX frames_kind_idx ON %I.frames (kind)'),
    ('CREATE INDEX frames_platform_idx ON %I.frames (platform)'),
    ('CREATE INDEX frames_words_idx ON %I.frames USING gin (words) WITH (gin_pending_list_limit = 512)'),
    ('CREATE INDEX frames_alike_idx ON %I.frames' ||
     ' USING gin (colors, alike_keys(phash, subject, surface, shot, technique, tone))' ||
     ' WITH (gin_pending_list_limit = 512)'),
    ('CREATE INDEX entries_newest_idx ON %I.entries (kind, added_ms DESC, id)'),
    ('CREATE INDEX entries_name_idx ON %I.entries (kind, name, id)'),
    ('CREATE INDEX entries_strength_idx ON %I.entries (kind, strength DESC, id)'),
    ('CREATE INDEX entries_author_idx ON %I.entries (author) WHERE author IS NOT NULL'),
    ('CREATE INDEX entries_source_idx ON %I.entries (source_key) WHERE source_key IS NOT NULL'),
    ('CREATE INDEX entries_words_idx ON %I.entries USING gin (words) WITH (gin_pending_list_limit = 512)'),
    ('CREATE INDEX words_similar_idx ON %I.words USING gin (word gin_trgm_ops)')
  ) AS indexes(definition)
$$;
--> statement-breakpoint
SELECT create_read_model('library_search');
--> statement-breakpoint
DO $$ DECLARE definition text; BEGIN
  FOR definition IN SELECT read_model_indexes('library_search') LOOP EXECUTE definition; END LOOP;
END $$;
--> statement-breakpoint
-- The first position of the log.
SELECT event_log_shift();
