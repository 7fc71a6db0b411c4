-- Bounds of shots in the read model. Rows from before get theirs from the hourly comparison of the read model.
ALTER TABLE library_search.frames ADD COLUMN shot_ms integer[];--> statement-breakpoint
CREATE OR REPLACE FUNCTION create_read_model(target text) RETURNS void LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
  EXECUTE format('CREATE SCHEMA %I', target);
  PERFORM set_config('search_path', quote_ident(target) || ', public', true);
  -- What readers get, whole. A removed document stays as a row without one, so that a mirror can follow by version.
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
    shot_ms integer[]
  );
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
  -- Every word there is, by where it stands: mistyped words and parts of words are looked up here, not in the documents.
  CREATE TABLE words (
    scope text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope, word)
  );
END $$;
