#!/bin/sh
# Before the first release the generated migration is one file, made anew from src/db/schema.ts. Hand-written ones (0000, 0002 and later) stay.
set -eu
cd "$(dirname "$0")/.."
rm -f drizzle/0001_library.sql
node -e '
const fs = require("fs")
const file = "drizzle/meta/_journal.json"
const journal = JSON.parse(fs.readFileSync(file, "utf8"))
fs.writeFileSync("/tmp/journal.rest.json", JSON.stringify(journal.entries.filter((entry) => entry.idx > 1)))
journal.entries = journal.entries.filter((entry) => entry.idx < 1)
fs.writeFileSync(file, JSON.stringify(journal, null, 2))
for (const name of fs.readdirSync("drizzle/meta")) if (/^000[1-9]_snapshot/.test(name)) fs.rmSync("drizzle/meta/" + name)
'
npx drizzle-kit generate --name library
node -e '
const fs = require("fs")
const file = "drizzle/meta/_journal.json"
const journal = JSON.parse(fs.readFileSync(file, "utf8"))
journal.entries.push(...JSON.parse(fs.readFileSync("/tmp/journal.rest.json", "utf8")))
fs.writeFileSync(file, JSON.stringify(journal, null, 2) + "\n")
'
