ALTER TABLE "dead_events" ADD COLUMN "attempts" integer DEFAULT 10 NOT NULL;--> statement-breakpoint
ALTER TABLE "dead_events" ADD COLUMN "retry_at" timestamp (3) with time zone;