ALTER TABLE "videos" ADD COLUMN "frame_rate" text;--> statement-breakpoint
ALTER TABLE "videos" ADD COLUMN "start_timecode" text;