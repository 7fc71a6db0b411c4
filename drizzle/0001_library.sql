CREATE TABLE "accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"role" text DEFAULT 'member' NOT NULL,
	"plan" text DEFAULT 'free' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "accounts_email_unique" UNIQUE("email"),
	CONSTRAINT "accounts_role" CHECK (role in ('member', 'operator')),
	CONSTRAINT "accounts_plan" CHECK (plan in ('free', 'pro')),
	CONSTRAINT "accounts_email" CHECK (email = lower(email))
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
	"copied_from" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "annotations_frame_id_annotator_pk" PRIMARY KEY("frame_id","annotator"),
	CONSTRAINT "annotations_status" CHECK (status in ('annotated', 'refused', 'failed'))
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
	"share_hash" text,
	"shared_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "boards_share_hash_unique" UNIQUE("share_hash")
);
--> statement-breakpoint
CREATE TABLE "checkpoints" (
	"consumer" text PRIMARY KEY NOT NULL,
	"xid" "xid8" DEFAULT '0' NOT NULL,
	"seq" bigint DEFAULT 0 NOT NULL,
	"epoch" bigint DEFAULT 0 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "dead_events" (
	"consumer" text NOT NULL,
	"event_id" uuid NOT NULL,
	"error" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "dead_events_consumer_event_id_pk" PRIMARY KEY("consumer","event_id")
);
--> statement-breakpoint
CREATE TABLE "dismissed_suggestions" (
	"slug" text PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "events" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"xid" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
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
CREATE TABLE "frames" (
	"id" text PRIMARY KEY NOT NULL,
	"video_id" text NOT NULL,
	"t_ms" integer NOT NULL,
	"sample_ms" integer NOT NULL,
	"kind" text NOT NULL,
	"reason" text NOT NULL,
	"width" integer NOT NULL,
	"height" integer NOT NULL,
	"image_key" text NOT NULL,
	"thumb_key" text NOT NULL,
	"image_bytes" integer NOT NULL,
	"image_sha256" text NOT NULL,
	"placeholder" text NOT NULL,
	"luma" double precision NOT NULL,
	"dark_share" double precision NOT NULL,
	"palette" text[] NOT NULL,
	"palette_shares" double precision[] NOT NULL,
	"sharpness" double precision NOT NULL,
	"motion" double precision NOT NULL,
	"phash" text NOT NULL,
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
	CONSTRAINT "frames_instant" CHECK (t_ms >= 0 and sample_ms >= 0)
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
CREATE TABLE "reannotations" (
	"frame_id" text PRIMARY KEY NOT NULL,
	"video_id" text NOT NULL,
	"annotator" text NOT NULL,
	"requested_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "saves" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "saves_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" text NOT NULL,
	"frame_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "saves_account_id_frame_id_pk" PRIMARY KEY("account_id","frame_id")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"hash" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sign_in_links" (
	"hash" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
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
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "techniques_slug" CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 64)
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
	"shots" jsonb,
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
ALTER TABLE "annotations" ADD CONSTRAINT "annotations_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_items" ADD CONSTRAINT "board_items_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_items" ADD CONSTRAINT "board_items_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "frames" ADD CONSTRAINT "frames_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "frames" ADD CONSTRAINT "frames_technique_fk" FOREIGN KEY ("technique") REFERENCES "public"."techniques"("slug") ON DELETE no action ON UPDATE cascade;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reannotations" ADD CONSTRAINT "reannotations_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reannotations" ADD CONSTRAINT "reannotations_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "saves" ADD CONSTRAINT "saves_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "saves" ADD CONSTRAINT "saves_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "technique_redirects" ADD CONSTRAINT "technique_redirects_slug_techniques_slug_fk" FOREIGN KEY ("slug") REFERENCES "public"."techniques"("slug") ON DELETE cascade ON UPDATE cascade;--> statement-breakpoint
ALTER TABLE "vision_calls" ADD CONSTRAINT "vision_calls_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "annotations_proposed_idx" ON "annotations" USING btree ("proposed_technique") WHERE proposed_technique is not null;--> statement-breakpoint
CREATE INDEX "api_keys_account_idx" ON "api_keys" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "board_items_order_idx" ON "board_items" USING btree ("board_id","position");--> statement-breakpoint
CREATE INDEX "board_items_frame_idx" ON "board_items" USING btree ("frame_id");--> statement-breakpoint
CREATE INDEX "boards_account_idx" ON "boards" USING btree ("account_id","created_at","id");--> statement-breakpoint
CREATE INDEX "events_cursor_idx" ON "events" USING btree ("xid","seq");--> statement-breakpoint
CREATE INDEX "events_type_idx" ON "events" USING btree ("type","xid","seq");--> statement-breakpoint
CREATE INDEX "frames_image_key_idx" ON "frames" USING btree ("image_key");--> statement-breakpoint
CREATE INDEX "frames_thumb_key_idx" ON "frames" USING btree ("thumb_key");--> statement-breakpoint
CREATE INDEX "frames_kind_idx" ON "frames" USING btree ("kind");--> statement-breakpoint
CREATE INDEX "frames_tone_idx" ON "frames" USING btree ("tone");--> statement-breakpoint
CREATE INDEX "frames_subject_idx" ON "frames" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "frames_surface_idx" ON "frames" USING btree ("surface");--> statement-breakpoint
CREATE INDEX "frames_shot_idx" ON "frames" USING btree ("shot");--> statement-breakpoint
CREATE INDEX "frames_technique_idx" ON "frames" USING btree ("technique");--> statement-breakpoint
CREATE INDEX "frames_zone_idx" ON "frames" USING btree ("zone");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_idx" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "reannotations_video_idx" ON "reannotations" USING btree ("video_id");--> statement-breakpoint
CREATE INDEX "saves_newest_idx" ON "saves" USING btree ("account_id","seq");--> statement-breakpoint
CREATE INDEX "saves_frame_idx" ON "saves" USING btree ("frame_id");--> statement-breakpoint
CREATE INDEX "sessions_account_idx" ON "sessions" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "sessions_expires_idx" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sign_in_links_email_idx" ON "sign_in_links" USING btree ("email");--> statement-breakpoint
CREATE INDEX "sign_in_links_expires_idx" ON "sign_in_links" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "videos_status_idx" ON "videos" USING btree ("status","updated_at");--> statement-breakpoint
CREATE INDEX "videos_added_idx" ON "videos" USING btree ("added_at","id");--> statement-breakpoint
CREATE INDEX "videos_author_idx" ON "videos" USING btree ("author");--> statement-breakpoint
CREATE INDEX "videos_platform_idx" ON "videos" USING btree ("platform");--> statement-breakpoint
CREATE INDEX "vision_calls_video_idx" ON "vision_calls" USING btree ("video_id");--> statement-breakpoint
CREATE INDEX "vision_calls_at_idx" ON "vision_calls" USING btree ("at");