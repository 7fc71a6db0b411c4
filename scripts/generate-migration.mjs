// `npm run db:generate`: writes drizzle/ from src/db/schema. Until 0.1.0 is released there is one migration, made anew
// each time: what is written by hand before the tables, the generated tables, and what is written by hand after them.
// From that release on it adds a migration with the difference: `npm run db:generate -- --name <what>`.
// With --check it writes nothing, and fails where the one migration is not what it would write.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { isReleased } from './released.mjs'

const FIRST = 'drizzle/0000_begin.sql'

const args = process.argv.slice(2)
const isCheck = args.includes('--check')
const released = isReleased()
if (released === false) makeFirst()
else if (released && !isCheck) drizzleKit(['--out=drizzle', ...args])
else if (!isCheck) throw new Error('The tags are not here. Run git fetch --unshallow --tags first.')

function makeFirst() {
  // drizzle-kit takes a relative folder only.
  const out = relative('.', mkdtempSync('node_modules/.drizzle-'))
  try {
    drizzleKit([`--out=${out}`, '--name=begin'])
    const tables = `${readFileSync(`${out}/0000_begin.sql`, 'utf8').trimEnd()}\n`
    const sql = [byHand('before'), tables, byHand('after')].join('--> statement-breakpoint\n')
    if (!isCheck) {
      rmSync('drizzle/meta', { recursive: true, force: true })
      cpSync(`${out}/meta`, 'drizzle/meta', { recursive: true })
      writeFileSync(FIRST, sql)
    } else if (readFileSync(FIRST, 'utf8') !== sql) {
      console.log(`${FIRST} is not what src/db/schema and drizzle/by-hand say. Run npm run db:generate.`)
      process.exitCode = 1
    }
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

function byHand(name) {
  return readFileSync(`drizzle/by-hand/${name}.sql`, 'utf8')
}

function drizzleKit(options) {
  const command = ['generate', '--dialect=postgresql', '--schema=./src/db/schema/*.ts', ...options]
  execFileSync('drizzle-kit', command, { stdio: ['ignore', 'ignore', 'inherit'] })
}
