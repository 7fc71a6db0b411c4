-- What frames like a given one are looked up by: the four 16-bit bands of the hash of the picture (two hashes within seven bits share one, give or take a bit), and
-- hashes of attributes taken together, negative. Beside the colours in one index, so that both are intersected before a row is read.
CREATE FUNCTION alike_keys(phash bit, subject text, surface text, shot text, technique text, tone text) RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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
CREATE OR REPLACE FUNCTION index_read_model(target text) RETURNS void LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
  PERFORM set_config('search_path', quote_ident(target) || ', public', true);
  CREATE INDEX documents_version_idx ON documents (version);
  CREATE INDEX frames_newest_idx ON frames (added_ms DESC, video_id, t_ms) INCLUDE (id);
  CREATE INDEX frames_video_idx ON frames (video_id, t_ms);
  CREATE INDEX frames_video_strength_idx ON frames (video_id, strength DESC, id);
  CREATE INDEX frames_strength_idx ON frames (strength DESC, id);
  CREATE INDEX frames_author_idx ON frames (author, added_ms DESC, video_id, t_ms);
  CREATE INDEX frames_technique_idx ON frames (technique, added_ms DESC, video_id, t_ms);
  CREATE INDEX frames_author_strength_idx ON frames (author, strength DESC, id);
  CREATE INDEX frames_technique_strength_idx ON frames (technique, strength DESC, id);
  CREATE INDEX frames_subject_idx ON frames (subject);
  CREATE INDEX frames_surface_idx ON frames (surface);
  CREATE INDEX frames_shot_idx ON frames (shot);
  CREATE INDEX frames_zone_idx ON frames (zone);
  CREATE INDEX frames_tone_idx ON frames (tone);
  CREATE INDEX frames_kind_idx ON frames (kind);
  CREATE INDEX frames_platform_idx ON frames (platform);
  CREATE INDEX frames_words_idx ON frames USING gin (words) WITH (gin_pending_list_limit = 512);
  CREATE INDEX frames_alike_idx ON frames USING gin (colors, alike_keys(phash, subject, surface, shot, technique, tone)) WITH (gin_pending_list_limit = 512);
  CREATE INDEX entries_newest_idx ON entries (kind, added_ms DESC, id);
  CREATE INDEX entries_name_idx ON entries (kind, name, id);
  CREATE INDEX entries_strength_idx ON entries (kind, strength DESC, id);
  CREATE INDEX entries_author_idx ON entries (author) WHERE author IS NOT NULL;
  CREATE INDEX entries_source_idx ON entries (source_key) WHERE source_key IS NOT NULL;
  CREATE INDEX entries_words_idx ON entries USING gin (words) WITH (gin_pending_list_limit = 512);
  CREATE INDEX words_similar_idx ON words USING gin (word gin_trgm_ops);
END $$;
--> statement-breakpoint
DROP INDEX IF EXISTS library_search.frames_colors_idx;
--> statement-breakpoint
CREATE INDEX frames_alike_idx ON library_search.frames
  USING gin (colors, alike_keys(phash, subject, surface, shot, technique, tone)) WITH (gin_pending_list_limit = 512);
