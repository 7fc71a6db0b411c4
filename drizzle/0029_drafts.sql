CREATE TABLE "drafts" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"title" text NOT NULL,
	"source_url" text,
	"upload_key" text,
	"state" text DEFAULT 'queued' NOT NULL,
	"failure_code" text,
	"failure_message" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"film" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "drafts_state" CHECK (state in ('queued', 'fetching', 'measuring', 'ready', 'failed')),
	CONSTRAINT "drafts_ready_has_film" CHECK ((state = 'ready') = (film is not null))
);
--> statement-breakpoint
ALTER TABLE "drafts" ADD CONSTRAINT "drafts_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "drafts_running_idx" ON "drafts" USING btree ("account_id") WHERE state in ('queued', 'fetching', 'measuring');--> statement-breakpoint
CREATE INDEX "drafts_account_idx" ON "drafts" USING btree ("account_id","created_at");--> statement-breakpoint
CREATE INDEX "drafts_expires_idx" ON "drafts" USING btree ("expires_at");