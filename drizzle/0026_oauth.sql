CREATE TABLE "grants" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"client_id" text NOT NULL,
	"client_name" text NOT NULL,
	"returns_to" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "oauth_records" (
	"kind" text NOT NULL,
	"hash" text NOT NULL,
	"payload" jsonb NOT NULL,
	"grant_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"consumed_at" timestamp (3) with time zone,
	"permanent" boolean DEFAULT false NOT NULL,
	CONSTRAINT "oauth_records_kind_hash_pk" PRIMARY KEY("kind","hash")
);
--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_grant_id_grants_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."grants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "grants_account_idx" ON "grants" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "grants_client_idx" ON "grants" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "oauth_records_grant_idx" ON "oauth_records" USING btree ("grant_id") WHERE grant_id is not null;--> statement-breakpoint
CREATE INDEX "oauth_records_expires_idx" ON "oauth_records" USING btree ("expires_at") WHERE expires_at is not null;