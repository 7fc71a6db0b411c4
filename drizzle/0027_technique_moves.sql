ALTER TABLE "techniques" ADD COLUMN "moves_to" text;--> statement-breakpoint
ALTER TABLE "techniques" ADD COLUMN "moves_as" text;--> statement-breakpoint
-- locks writes: of some dozen rows, whose new column is empty
ALTER TABLE "techniques" ADD CONSTRAINT "techniques_moves_to_techniques_slug_fk" FOREIGN KEY ("moves_to") REFERENCES "public"."techniques"("slug") ON DELETE no action ON UPDATE cascade;