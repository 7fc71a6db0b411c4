ALTER TABLE "accounts" ALTER COLUMN "email" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "boards" ADD COLUMN "item_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "removals" ADD COLUMN "frames" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- A trigger, so that the count is right while older code pins beside this version, and after a restore. It counts
-- again instead of adding: a restored board has its count before its pins. Whoever changes pins has locked their board.
CREATE FUNCTION count_board_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE boards b SET item_count = (SELECT count(*) FROM board_items i WHERE i.board_id = b.id)
   WHERE b.id IN (SELECT board_id FROM changed);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER board_items_added AFTER INSERT ON board_items REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_board_items();
--> statement-breakpoint
CREATE TRIGGER board_items_removed AFTER DELETE ON board_items REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_board_items();
--> statement-breakpoint
UPDATE boards b SET item_count = (SELECT count(*) FROM board_items i WHERE i.board_id = b.id);
--> statement-breakpoint
UPDATE removals SET frames = jsonb_array_length(CASE kind WHEN 'saves' THEN data ELSE data->'pins' END);
