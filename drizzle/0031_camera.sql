ALTER TABLE "shots" ADD COLUMN "camera" text;--> statement-breakpoint
ALTER TABLE "shots" ADD COLUMN "jumps" integer[];--> statement-breakpoint
-- locks writes: the column is new and null in every row, and shots are written by extractions alone.
ALTER TABLE "shots" ADD CONSTRAINT "shots_camera" CHECK (camera in ('static', 'pan', 'tilt', 'zoom', 'handheld', 'scroll', 'unknown'));