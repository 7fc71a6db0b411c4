ALTER TABLE "frames" ADD COLUMN "faces" integer;--> statement-breakpoint
ALTER TABLE "frames" ADD COLUMN "empty_share" double precision;--> statement-breakpoint
ALTER TABLE "frames" ADD COLUMN "ink" text;--> statement-breakpoint
ALTER TABLE "frames" ADD COLUMN "ground" text;