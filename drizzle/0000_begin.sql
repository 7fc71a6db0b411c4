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
--> statement-breakpoint
CREATE TABLE "accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text,
	"name" text,
	"role" text DEFAULT 'member' NOT NULL,
	"plan" text DEFAULT 'free' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"disabled_at" timestamp (3) with time zone,
	CONSTRAINT "accounts_email_unique" UNIQUE("email"),
	CONSTRAINT "accounts_role" CHECK (role in ('member', 'operator')),
	CONSTRAINT "accounts_plan" CHECK (plan in ('free', 'pro')),
	CONSTRAINT "accounts_email" CHECK (email = lower(email))
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"hint" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"replaced_by" text,
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "grants" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"client_id" text NOT NULL,
	"client_name" text NOT NULL,
	"returns_to" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"account_id" text NOT NULL,
	"key_hash" text NOT NULL,
	"fingerprint" text NOT NULL,
	"status" smallint NOT NULL,
	"body" json,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_account_id_key_hash_pk" PRIMARY KEY("account_id","key_hash")
);
--> statement-breakpoint
CREATE TABLE "oauth_records" (
	"kind" text NOT NULL,
	"hash" text NOT NULL,
	"payload" jsonb NOT NULL,
	"grant_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"consumed_at" timestamp (3) with time zone,
	CONSTRAINT "oauth_records_kind_hash_pk" PRIMARY KEY("kind","hash")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"hash" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sign_in_links" (
	"hash" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"plan" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "board_items" (
	"board_id" text NOT NULL,
	"frame_id" text NOT NULL,
	"position" integer NOT NULL,
	"note" text,
	"pinned_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "board_items_board_id_frame_id_pk" PRIMARY KEY("board_id","frame_id")
);
--> statement-breakpoint
CREATE TABLE "boards" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"share_hash" text,
	"shared_at" timestamp (3) with time zone,
	"cover_frame_id" text,
	"item_count" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "boards_share_hash_unique" UNIQUE("share_hash")
);
--> statement-breakpoint
CREATE TABLE "removed_saves" (
	"account_id" text NOT NULL,
	"frame_id" text NOT NULL,
	"seq" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"removed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "removed_saves_account_id_frame_id_pk" PRIMARY KEY("account_id","frame_id")
);
--> statement-breakpoint
CREATE TABLE "saves" (
	"seq" bigint GENERATED BY DEFAULT AS IDENTITY (sequence name "saves_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" text NOT NULL,
	"frame_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "saves_account_id_frame_id_pk" PRIMARY KEY("account_id","frame_id")
);
--> statement-breakpoint
CREATE TABLE "analytics_figures" (
	"day" date NOT NULL,
	"figure" text NOT NULL,
	"key" text NOT NULL,
	"count" bigint NOT NULL,
	"amount" numeric,
	CONSTRAINT "analytics_figures_figure_day_key_pk" PRIMARY KEY("figure","day","key")
);
--> statement-breakpoint
CREATE TABLE "analytics_uses" (
	"day" date NOT NULL,
	"dimension" text NOT NULL,
	"keys" text[] NOT NULL,
	"saves" integer[] NOT NULL,
	"unsaves" integer[] NOT NULL,
	"pins" integer[] NOT NULL,
	"unpins" integer[] NOT NULL,
	CONSTRAINT "analytics_uses_dimension_day_pk" PRIMARY KEY("dimension","day")
);
--> statement-breakpoint
CREATE TABLE "checkpoints" (
	"consumer" text PRIMARY KEY NOT NULL,
	"xid" "xid8" DEFAULT '0' NOT NULL,
	"seq" bigint DEFAULT 0 NOT NULL,
	"epoch" bigint DEFAULT 0 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"outage" jsonb
);
--> statement-breakpoint
CREATE TABLE "dead_events" (
	"consumer" text NOT NULL,
	"event_id" uuid NOT NULL,
	"error" text NOT NULL,
	"attempts" integer DEFAULT 10 NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"retry_at" timestamp (3) with time zone,
	CONSTRAINT "dead_events_consumer_event_id_pk" PRIMARY KEY("consumer","event_id")
);
--> statement-breakpoint
CREATE TABLE "event_log" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"cluster" text NOT NULL,
	"shift" bigint NOT NULL,
	"since" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "event_log_one_row" CHECK (id = 1)
);
--> statement-breakpoint
CREATE TABLE "events" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"xid" "xid8" DEFAULT event_log_position() NOT NULL,
	"id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"type" text NOT NULL,
	"version" smallint DEFAULT 1 NOT NULL,
	"subject" text NOT NULL,
	"account_id" text,
	"data" jsonb NOT NULL,
	"time" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "events_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "annotations" (
	"frame_id" text NOT NULL,
	"annotator" text NOT NULL,
	"model" text NOT NULL,
	"status" text NOT NULL,
	"reason" text,
	"proposed_technique" text,
	"values" jsonb NOT NULL,
	"issues" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "annotations_frame_id_annotator_pk" PRIMARY KEY("frame_id","annotator"),
	CONSTRAINT "annotations_status" CHECK (status in ('annotated', 'refused', 'failed'))
);
--> statement-breakpoint
CREATE TABLE "dismissed_suggestions" (
	"slug" text PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "frames" (
	"id" text PRIMARY KEY NOT NULL,
	"video_id" text NOT NULL,
	"t_ms" integer NOT NULL,
	"kind" text NOT NULL,
	"reason" text NOT NULL,
	"rest" jsonb,
	"width" integer NOT NULL,
	"height" integer NOT NULL,
	"image_key" text NOT NULL,
	"thumb_key" text NOT NULL,
	"loop_key" text,
	"image_bytes" integer NOT NULL,
	"image_sha256" text NOT NULL,
	"placeholder" text NOT NULL,
	"luma" double precision NOT NULL,
	"dark_share" double precision NOT NULL,
	"palette" text[] NOT NULL,
	"palette_shares" double precision[] NOT NULL,
	"colored_share" double precision NOT NULL,
	"sharpness" double precision NOT NULL,
	"motion" double precision NOT NULL,
	"phash" text NOT NULL,
	"faces" integer,
	"empty_share" double precision,
	"ink" text,
	"ground" text,
	"tone" text NOT NULL,
	"tone_provenance" jsonb NOT NULL,
	"kind_provenance" jsonb NOT NULL,
	"subject" text,
	"subject_provenance" jsonb,
	"surface" text,
	"surface_provenance" jsonb,
	"shot" text,
	"shot_provenance" jsonb,
	"technique" text,
	"technique_provenance" jsonb,
	"zone" text,
	"zone_provenance" jsonb,
	"caption" text,
	"caption_provenance" jsonb,
	"composition" text,
	"composition_provenance" jsonb,
	"steal" text,
	"steal_provenance" jsonb,
	"on_screen_text" text,
	"on_screen_text_provenance" jsonb,
	"annotation_model" text,
	"save_count" integer DEFAULT 0 NOT NULL,
	"save_strength" double precision,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "frames_video_instant" UNIQUE("video_id","t_ms"),
	CONSTRAINT "frames_kind" CHECK (kind in ('cut', 'beat', 'intro')),
	CONSTRAINT "frames_tone" CHECK (tone in ('dark', 'bright')),
	CONSTRAINT "frames_subject" CHECK (subject in ('presenter', 'ui', 'product', 'terminal', 'text-card', 'b-roll', 'chart', 'logo', 'crowd')),
	CONSTRAINT "frames_surface" CHECK (surface in ('camera', 'screen-recording', 'motion-graphics', '3d-render', 'slide', 'mixed')),
	CONSTRAINT "frames_shot" CHECK (shot in ('no-face', 'corner-inset', 'wide-presenter', 'medium-presenter', 'close-presenter')),
	CONSTRAINT "frames_zone" CHECK (zone in ('none', 'top-left', 'top-center', 'top-right', 'middle-left', 'middle-center', 'middle-right', 'bottom-left', 'bottom-center', 'bottom-right')),
	CONSTRAINT "frames_instant" CHECK (t_ms >= 0)
);
--> statement-breakpoint
CREATE TABLE "reannotations" (
	"frame_id" text PRIMARY KEY NOT NULL,
	"video_id" text NOT NULL,
	"annotator" text NOT NULL,
	"requested_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "reviewed_frames" (
	"frame_id" text PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "technique_redirects" (
	"old_slug" text PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "techniques" (
	"slug" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"recognise" text NOT NULL,
	"aliases" text[] DEFAULT '{}' NOT NULL,
	"retired_at" timestamp (3) with time zone,
	"moves_to" text,
	"moves_as" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "techniques_slug" CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 64)
);
--> statement-breakpoint
CREATE TABLE "films" (
	"video_id" text PRIMARY KEY NOT NULL,
	"picture" jsonb NOT NULL,
	"measures" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "shots" (
	"video_id" text NOT NULL,
	"n" integer NOT NULL,
	"from_ms" integer NOT NULL,
	"to_ms" integer NOT NULL,
	"clean_from_ms" integer NOT NULL,
	"clean_to_ms" integer NOT NULL,
	"transition" text NOT NULL,
	"through" text,
	"held" double precision,
	"motion" double precision,
	CONSTRAINT "shots_video_id_n_pk" PRIMARY KEY("video_id","n"),
	CONSTRAINT "shots_transition" CHECK (transition in ('start', 'cut', 'fade', 'dissolve', 'wipe')),
	CONSTRAINT "shots_bounds" CHECK (from_ms <= to_ms and clean_from_ms <= clean_to_ms)
);
--> statement-breakpoint
CREATE TABLE "videos" (
	"id" text PRIMARY KEY NOT NULL,
	"source_key" text NOT NULL,
	"source_url" text,
	"upload_key" text,
	"title" text NOT NULL,
	"author" text,
	"platform" text NOT NULL,
	"title_given" boolean DEFAULT false NOT NULL,
	"author_given" boolean DEFAULT false NOT NULL,
	"duration_sec" double precision,
	"width" integer,
	"height" integer,
	"fps" double precision,
	"frame_rate" text,
	"start_timecode" text,
	"rotation" integer,
	"codec" text,
	"published_at" timestamp (3) with time zone,
	"added_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"status" text DEFAULT 'queued' NOT NULL,
	"failure_code" text,
	"failure_message" text,
	"stages" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"backfill" boolean DEFAULT false NOT NULL,
	"priority" integer DEFAULT 0 NOT NULL,
	"detector" jsonb,
	"passed_over" jsonb,
	"annotator" text,
	"first_ready_at" timestamp (3) with time zone,
	"ready_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "videos_source_key_unique" UNIQUE("source_key"),
	CONSTRAINT "videos_platform" CHECK (platform in ('youtube', 'x', 'linkedin', 'vimeo', 'web')),
	CONSTRAINT "videos_status" CHECK (status in ('queued', 'fetching', 'extracting', 'annotating', 'ready', 'failed', 'cancelled')),
	CONSTRAINT "videos_failed_has_code" CHECK ((status = 'failed') = (failure_code is not null))
);
--> statement-breakpoint
CREATE TABLE "frame_vectors" (
	"frame_id" text NOT NULL,
	"space" text NOT NULL,
	"source_hash" text NOT NULL,
	"q8" "bytea",
	"refused" text,
	CONSTRAINT "frame_vectors_space_frame_id_pk" PRIMARY KEY("space","frame_id")
);
--> statement-breakpoint
CREATE TABLE "vision_answers" (
	"image_sha256" text NOT NULL,
	"model" text NOT NULL,
	"prompt" text NOT NULL,
	"answer" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "vision_answers_image_sha256_model_prompt_pk" PRIMARY KEY("image_sha256","model","prompt")
);
--> statement-breakpoint
CREATE TABLE "vision_calls" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "vision_calls_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"video_id" text,
	"model" text NOT NULL,
	"frames" integer NOT NULL,
	"input_tokens" integer,
	"cached_tokens" integer,
	"output_tokens" integer,
	"cost_usd" double precision,
	"duration_ms" integer NOT NULL,
	"outcome" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_counts" (
	"outcome" text PRIMARY KEY NOT NULL,
	"attempts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "webhook_deliveries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"endpoint_id" text NOT NULL,
	"event_id" uuid NOT NULL,
	"type" text NOT NULL,
	"test" jsonb,
	"state" text DEFAULT 'waiting' NOT NULL,
	"tries" smallint DEFAULT 0 NOT NULL,
	"next_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"attempts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	CONSTRAINT "webhook_deliveries_event" UNIQUE("endpoint_id","event_id"),
	CONSTRAINT "webhook_deliveries_state" CHECK (state in ('waiting', 'delivered', 'failed', 'skipped'))
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"id" text PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"types" text[],
	"state" text DEFAULT 'active' NOT NULL,
	"paused_because" text,
	"secret" text NOT NULL,
	"old_secret" text,
	"old_secret_until" timestamp (3) with time zone,
	"xid" "xid8" NOT NULL,
	"seq" bigint NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"last_success_at" timestamp (3) with time zone,
	"held_until" timestamp (3) with time zone,
	"lease" uuid,
	"lease_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_endpoints_state" CHECK (state in ('active', 'paused', 'gone'))
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_grant_id_grants_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."grants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_items" ADD CONSTRAINT "board_items_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_items" ADD CONSTRAINT "board_items_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "removed_saves" ADD CONSTRAINT "removed_saves_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "removed_saves" ADD CONSTRAINT "removed_saves_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "saves" ADD CONSTRAINT "saves_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "saves" ADD CONSTRAINT "saves_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "annotations" ADD CONSTRAINT "annotations_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "frames" ADD CONSTRAINT "frames_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "frames" ADD CONSTRAINT "frames_technique_fk" FOREIGN KEY ("technique") REFERENCES "public"."techniques"("slug") ON DELETE no action ON UPDATE cascade;--> statement-breakpoint
ALTER TABLE "reannotations" ADD CONSTRAINT "reannotations_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reannotations" ADD CONSTRAINT "reannotations_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reviewed_frames" ADD CONSTRAINT "reviewed_frames_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "technique_redirects" ADD CONSTRAINT "technique_redirects_slug_techniques_slug_fk" FOREIGN KEY ("slug") REFERENCES "public"."techniques"("slug") ON DELETE cascade ON UPDATE cascade;--> statement-breakpoint
ALTER TABLE "techniques" ADD CONSTRAINT "techniques_moves_to_techniques_slug_fk" FOREIGN KEY ("moves_to") REFERENCES "public"."techniques"("slug") ON DELETE no action ON UPDATE cascade;--> statement-breakpoint
ALTER TABLE "films" ADD CONSTRAINT "films_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "shots" ADD CONSTRAINT "shots_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "frame_vectors" ADD CONSTRAINT "frame_vectors_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vision_calls" ADD CONSTRAINT "vision_calls_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_webhook_endpoints_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."webhook_endpoints"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_account_idx" ON "api_keys" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "grants_account_idx" ON "grants" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "grants_client_idx" ON "grants" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_idx" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "oauth_records_grant_idx" ON "oauth_records" USING btree ("grant_id") WHERE grant_id is not null;--> statement-breakpoint
CREATE INDEX "oauth_records_expires_idx" ON "oauth_records" USING btree ("expires_at") WHERE expires_at is not null;--> statement-breakpoint
CREATE INDEX "sessions_account_idx" ON "sessions" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "sessions_expires_idx" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sign_in_links_email_idx" ON "sign_in_links" USING btree ("email");--> statement-breakpoint
CREATE INDEX "sign_in_links_expires_idx" ON "sign_in_links" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "board_items_order_idx" ON "board_items" USING btree ("board_id","position");--> statement-breakpoint
CREATE INDEX "board_items_frame_idx" ON "board_items" USING btree ("frame_id");--> statement-breakpoint
CREATE INDEX "boards_account_idx" ON "boards" USING btree ("account_id","created_at","id");--> statement-breakpoint
CREATE INDEX "boards_deleted_idx" ON "boards" USING btree ("deleted_at") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX "removed_saves_frame_idx" ON "removed_saves" USING btree ("frame_id");--> statement-breakpoint
CREATE INDEX "removed_saves_removed_idx" ON "removed_saves" USING btree ("removed_at");--> statement-breakpoint
CREATE INDEX "saves_newest_idx" ON "saves" USING btree ("account_id","seq");--> statement-breakpoint
CREATE INDEX "saves_frame_idx" ON "saves" USING btree ("frame_id");--> statement-breakpoint
CREATE INDEX "events_cursor_idx" ON "events" USING btree ("xid","seq");--> statement-breakpoint
CREATE INDEX "events_type_idx" ON "events" USING btree ("type","xid","seq");--> statement-breakpoint
CREATE INDEX "events_time_idx" ON "events" USING brin ("time") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "annotations_proposed_idx" ON "annotations" USING btree ("proposed_technique") WHERE proposed_technique is not null;--> statement-breakpoint
CREATE INDEX "frames_image_key_idx" ON "frames" USING btree ("image_key");--> statement-breakpoint
CREATE INDEX "frames_thumb_key_idx" ON "frames" USING btree ("thumb_key");--> statement-breakpoint
CREATE INDEX "frames_loop_key_idx" ON "frames" USING btree ("loop_key") WHERE loop_key is not null;--> statement-breakpoint
CREATE INDEX "frames_kind_idx" ON "frames" USING btree ("kind");--> statement-breakpoint
CREATE INDEX "frames_tone_idx" ON "frames" USING btree ("tone");--> statement-breakpoint
CREATE INDEX "frames_subject_idx" ON "frames" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "frames_surface_idx" ON "frames" USING btree ("surface");--> statement-breakpoint
CREATE INDEX "frames_shot_idx" ON "frames" USING btree ("shot");--> statement-breakpoint
CREATE INDEX "frames_technique_idx" ON "frames" USING btree ("technique");--> statement-breakpoint
CREATE INDEX "frames_zone_idx" ON "frames" USING btree ("zone");--> statement-breakpoint
CREATE INDEX "reannotations_video_idx" ON "reannotations" USING btree ("video_id");--> statement-breakpoint
CREATE INDEX "videos_status_idx" ON "videos" USING btree ("status","updated_at");--> statement-breakpoint
CREATE INDEX "videos_added_idx" ON "videos" USING btree ("added_at","id");--> statement-breakpoint
CREATE INDEX "videos_author_idx" ON "videos" USING btree ("author");--> statement-breakpoint
CREATE INDEX "videos_platform_idx" ON "videos" USING btree ("platform");--> statement-breakpoint
CREATE INDEX "frame_vectors_frame_idx" ON "frame_vectors" USING btree ("frame_id");--> statement-breakpoint
CREATE INDEX "frame_vectors_sample_idx" ON "frame_vectors" USING btree ("space",hashtext(frame_id));--> statement-breakpoint
CREATE INDEX "vision_calls_video_idx" ON "vision_calls" USING btree ("video_id");--> statement-breakpoint
CREATE INDEX "vision_calls_at_idx" ON "vision_calls" USING btree ("at");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries" USING btree ("endpoint_id","next_at","id") WHERE state = 'waiting';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_test_idx" ON "webhook_deliveries" USING btree ("endpoint_id","next_at","id") WHERE state = 'waiting' and test is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_list_idx" ON "webhook_deliveries" USING btree ("endpoint_id","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_finished_idx" ON "webhook_deliveries" USING btree ("finished_at") WHERE finished_at is not null;
--> statement-breakpoint
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
