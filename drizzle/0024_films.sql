CREATE TABLE "films" (
	"video_id" text PRIMARY KEY NOT NULL,
	"version" text NOT NULL,
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
ALTER TABLE "films" ADD CONSTRAINT "films_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "shots" ADD CONSTRAINT "shots_video_id_videos_id_fk" FOREIGN KEY ("video_id") REFERENCES "public"."videos"("id") ON DELETE cascade ON UPDATE no action;