ALTER TABLE "frames" ADD COLUMN "build_key" text;--> statement-breakpoint
ALTER TABLE "videos" ADD COLUMN "passed_over" jsonb;--> statement-breakpoint
-- locks writes: the column is new, so no row is in the index and one pass over the table builds it
CREATE INDEX "frames_build_key_idx" ON "frames" USING btree ("build_key") WHERE build_key is not null;