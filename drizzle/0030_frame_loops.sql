ALTER TABLE "frames" ADD COLUMN "loop_key" text;--> statement-breakpoint
-- locks writes: the column is new, so no row is in the index and one pass over the table builds it
CREATE INDEX "frames_loop_key_idx" ON "frames" USING btree ("loop_key") WHERE loop_key is not null;