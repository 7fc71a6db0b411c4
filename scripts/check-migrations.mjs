// Before the first release: fails where there is more than one migration. From its tag on: fails where that migration
// was edited, and for a migration that the version before it could not run on. Two versions of API and worker share a
// database during an upgrade: expand first, and contract a release later (docs/operations.md, Upgrades).
//
// A line above the statement admits it, with the reason:
//   -- contracts: no code names frames.old since 0.3.0
//   -- locks writes: saves has a few thousand rows
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { FIRST_RELEASE, isReleased } from './released.mjs'

const CONTRACTS = [
  [/^drop\s+(table|view|materialized view|type|function|schema|sequence)\b/, 'drops what older code may use'],
  [/^alter\s+table\b.*\bdrop\s+column\b/, 'drops a column that older code may use'],
  [/^alter\s+(table|view|type|index)\b.*\brename\b/, 'renames what older code calls by its name'],
  [/^alter\s+table\b.*\bset\s+not\s+null\b/, 'refuses rows of older code'],
  [/^alter\s+table\b.*\bset\s+data\s+type\b|^alter\s+table\b.*\balter\s+column\s+\S+\s+type\b/, 'changes a type'],
  [/^alter\s+table\b.*\bdrop\s+default\b/, 'refuses rows of older code, which leaves the value out'],
]
const LOCKS = [
  [/^create\s+(unique\s+)?index\s+(?!concurrently)/, 'locks writes while it builds an index'],
  [/^alter\s+table\b.*\badd\s+constraint\b(?!.*\bnot\s+valid\b)/, 'locks writes while it checks every row'],
]

const findings = []
const [first, ...later] = globSync('drizzle/*.sql').sort()
const released = isReleased()
if (released === false) {
  for (const file of later)
    findings.push(`${file}: there is one migration until ${FIRST_RELEASE}. Delete it and run npm run db:generate.`)
} else if (released) {
  if (readFileSync(first, 'utf8') !== execFileSync('git', ['show', `${FIRST_RELEASE}:${first}`], { encoding: 'utf8' }))
    findings.push(`${first} was released with ${FIRST_RELEASE}. Take the edit back and add a migration.`)
  for (const file of later) {
    const made = new Set()
    for (const statement of statementsOf(readFileSync(file, 'utf8'))) checkStatement(file, statement, made)
  }
}
for (const finding of findings) console.log(finding)
if (findings.length > 0) process.exitCode = 1

function checkStatement(file, { line, text, admitted }, made) {
  const created = /^create\s+table\s+(?:if\s+not\s+exists\s+)?(\S+)/.exec(text)?.[1]
  if (created) made.add(created)
  const refuse = (what, marker) =>
    findings.push(`${file}:${line} ${what}. Leave it to a later release, or say why it is safe: -- ${marker}: <reason>`)
  if (!admitted.has('contracts')) {
    const found = CONTRACTS.find(([pattern]) => pattern.test(text))
    if (found) refuse(found[1], 'contracts')
    else if (addsRequired(text)) refuse('adds a column that older code does not fill', 'contracts')
  }
  const table = /\b(?:on|alter\s+table)\s+(?:only\s+)?(\S+)/.exec(text)?.[1]
  const locks = LOCKS.find(([pattern]) => pattern.test(text))
  // A table of the same migration is empty.
  if (locks && !made.has(table) && !admitted.has('locks writes')) refuse(locks[1], 'locks writes')
}

function addsRequired(text) {
  const [, column] = /^alter\s+table\b.*?\badd\s+column\s+(.*)/.exec(text) ?? []
  return column !== undefined && /\bnot\s+null\b/.test(column) && !/\b(default|generated)\b/.test(column)
}

/** Statements in small letters without quotes and comments, each with its line and what was admitted above it. */
function* statementsOf(sql) {
  let line = 1
  for (const part of sql.split(/(?<=;|--> statement-breakpoint)/)) {
    const bare = part.replace(/--[^\n]*/g, '')
    const text = bare.replaceAll('"', '').replace(/\s+/g, ' ').replace(/;$/, '').trim().toLowerCase()
    const before = part.split('\n').findIndex((one) => /^\s*(?!--)\S/.test(one))
    const admitted = new Set([...part.matchAll(/^\s*-- ([a-z ]+): \S/gm)].map(([, marker]) => marker))
    if (text) yield { line: line + before, text, admitted }
    line += part.split('\n').length - 1
  }
}
