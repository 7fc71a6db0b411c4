// Loads the code of API and worker once, so that Node keeps it compiled and without types.
// A process that finds one file which is not kept loads what strips types, and holds 20 MB for it until it ends.

process.argv.splice(2, Number.POSITIVE_INFINITY, '--version')
await import('../src/cli/main.ts')
const { COMMANDS, SERVICES } = await import('../src/cli/commands.ts')
const service = COMMANDS.filter(({ name }) => SERVICES.includes(name))
for (const { load } of service) await load()
for (const file of [
  'cli/start',
  'cli/describe-failure',
  'server/main',
  'queue/job-counts',
  'workers/main',
  'workers/annotator',
  'video/source/fetch-source',
  'video/extract/extract',
])
  await import(`../src/${file}.ts`)
process.exit()
