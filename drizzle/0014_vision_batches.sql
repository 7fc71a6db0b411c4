CREATE TABLE "vision_batch_frames" (
	"frame_id" text PRIMARY KEY NOT NULL,
	"attempts" integer NOT NULL,
	"state" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "vision_batch_requests" (
	"batch_id" bigint NOT NULL,
	"n" integer NOT NULL,
	"video_id" text NOT NULL,
	"frame_ids" text[] NOT NULL,
	"copy_ids" text[] NOT NULL,
	"call_id" bigint NOT NULL,
	CONSTRAINT "vision_batch_requests_batch_id_n_pk" PRIMARY KEY("batch_id","n")
);
--> statement-breakpoint
CREATE TABLE "vision_batches" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "vision_batches_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"model" text NOT NULL,
	"status" text NOT NULL,
	"prompt_version" text,
	"file_id" text,
	"provider_id" text,
	"outcome" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "vision_batch_frames" ADD CONSTRAINT "vision_batch_frames_frame_id_frames_id_fk" FOREIGN KEY ("frame_id") REFERENCES "public"."frames"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vision_batch_requests" ADD CONSTRAINT "vision_batch_requests_batch_id_vision_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."vision_batches"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "vision_batches_open_idx" ON "vision_batches" USING btree ("status") WHERE status <> 'ended';