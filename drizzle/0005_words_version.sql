-- How the words of each search home were cut (WORDS_VERSION): what was cut otherwise is written anew when the workers start.
ALTER TABLE read_models ADD COLUMN words integer NOT NULL DEFAULT 1;
