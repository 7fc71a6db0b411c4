CREATE TABLE "subscription_deliveries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "subscription_deliveries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"subscription_id" text NOT NULL,
	"event_id" uuid NOT NULL,
	"body" text,
	"tries" smallint DEFAULT 0 NOT NULL,
	"next_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "subscription_deliveries_event" UNIQUE("subscription_id","event_id")
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"grant_id" text,
	"key_id" text,
	"name" text NOT NULL,
	"arguments" jsonb NOT NULL,
	"url" text NOT NULL,
	"secret" text NOT NULL,
	"old_secret" text,
	"old_secret_until" timestamp (3) with time zone,
	"xid" "xid8" NOT NULL,
	"seq" bigint NOT NULL,
	"refresh_before" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_delivery_at" timestamp (3) with time zone,
	"last_error" text,
	"failed_since" timestamp (3) with time zone,
	"lease_until" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "subscription_deliveries" ADD CONSTRAINT "subscription_deliveries_subscription_id_subscriptions_id_fk" FOREIGN KEY ("subscription_id") REFERENCES "public"."subscriptions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_grant_id_grants_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."grants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."api_keys"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "subscription_deliveries_due_idx" ON "subscription_deliveries" USING btree ("next_at","subscription_id");--> statement-breakpoint
CREATE INDEX "subscriptions_account_idx" ON "subscriptions" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "subscriptions_grant_idx" ON "subscriptions" USING btree ("grant_id") WHERE grant_id is not null;--> statement-breakpoint
CREATE INDEX "subscriptions_key_idx" ON "subscriptions" USING btree ("key_id") WHERE key_id is not null;--> statement-breakpoint
CREATE INDEX "subscriptions_end_idx" ON "subscriptions" USING btree ("refresh_before");--> statement-breakpoint
-- Nobody has subscribed to what came before.
INSERT INTO "checkpoints" ("consumer", "xid", "seq")
	SELECT 'subscriptions', "xid", "seq" FROM "checkpoints" WHERE "consumer" = 'webhooks' ON CONFLICT DO NOTHING;
