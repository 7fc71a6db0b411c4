-- A page of the wall deep behind a broad filter walks this index. With the attributes in it, the walk reads no frame.
CREATE OR REPLACE FUNCTION index_read_model(target text) RETURNS void LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
  PERFORM set_config('search_path', quote_ident(target) || ', public', true);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX documents_version_idx ON documents (version);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_newest_idx ON frames (added_ms DESC, video_id, t_ms)
    INCLUDE (id, subject, surface, shot, technique, zone, tone, kind, author, platform);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_video_idx ON frames (video_id, t_ms);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_video_strength_idx ON frames (video_id, strength DESC, id);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_strength_idx ON frames (strength DESC, id);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_author_idx ON frames (author, added_ms DESC, video_id, t_ms);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_technique_idx ON frames (technique, added_ms DESC, video_id, t_ms);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_author_strength_idx ON frames (author, strength DESC, id);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_technique_strength_idx ON frames (technique, strength DESC, id);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_subject_idx ON frames (subject);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_surface_idx ON frames (surface);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_shot_idx ON frames (shot);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_zone_idx ON frames (zone);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_tone_idx ON frames (tone);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_kind_idx ON frames (kind);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_platform_idx ON frames (platform);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_words_idx ON frames USING gin (words) WITH (gin_pending_list_limit = 512);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX frames_alike_idx ON frames USING gin (colors, alike_keys(phash, subject, surface, shot, technique, tone)) WITH (gin_pending_list_limit = 512);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX entries_newest_idx ON entries (kind, added_ms DESC, id);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX entries_name_idx ON entries (kind, name, id);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX entries_strength_idx ON entries (kind, strength DESC, id);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX entries_author_idx ON entries (author) WHERE author IS NOT NULL;
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX entries_source_idx ON entries (source_key) WHERE source_key IS NOT NULL;
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX entries_words_idx ON entries USING gin (words) WITH (gin_pending_list_limit = 512);
  -- locks writes: of a new generation that nobody reads yet
  CREATE INDEX words_similar_idx ON words USING gin (word gin_trgm_ops);
END $$;
--> statement-breakpoint
-- locks writes: some seconds at a million frames, of the projection only, which waits
CREATE INDEX frames_newest_idx_next ON library_search.frames (added_ms DESC, video_id, t_ms)
  INCLUDE (id, subject, surface, shot, technique, zone, tone, kind, author, platform);
--> statement-breakpoint
-- contracts: no code calls an index by its name
DROP INDEX IF EXISTS library_search.frames_newest_idx;
--> statement-breakpoint
-- contracts: no code calls an index by its name
ALTER INDEX library_search.frames_newest_idx_next RENAME TO frames_newest_idx;
