import type { Bench } from './support/bench.ts'
import { saveRun, writeReport } from './support/report.ts'

/** In the order of the report. */
const BENCHES: Record<string, () => Promise<Bench>> = {
  reads: () => import('./reads.ts'),
  mcp: () => import('./mcp.ts'),
  search: () => import('./search.ts'),
  'cold-search': () => import('./cold-search.ts'),
  paging: () => import('./paging.ts'),
  relevance: () => import('./relevance.ts'),
  starve: () => import('./starve.ts'),
  save: () => import('./save.ts'),
  'key-check': () => import('./key-check.ts'),
  projection: () => import('./projection.ts'),
  analytics: () => import('./analytics.ts'),
  events: () => import('./events.ts'),
  webhooks: () => import('./webhooks.ts'),
  pages: () => import('./pages.ts'),
  seed: () => import('./seed.ts'),
  backup: () => import('./backup.ts'),
  ingest: () => import('./ingest.ts'),
  shots: () => import('./shots.ts'),
  picks: () => import('./picks.ts'),
  annotation: () => import('./annotation.ts'),
  'annotation-throughput': () => import('./annotation-throughput.ts'),
  idle: () => import('./idle.ts'),
  'command-line': () => import('./command-line.ts'),
  upgrade: () => import('./upgrade.ts'),
}

const USAGE = `npm run bench -- <name> [arguments] [--json] [--save[=<result>]]
npm run bench -- report
Names: ${Object.keys(BENCHES).join(', ')}
--save keeps the figures in bench/results. report writes docs/benchmarks.md from them.`

const [name, ...args] = process.argv.slice(2)
if (name === 'report') await writeReport(BENCHES)
else if (name && Object.hasOwn(BENCHES, name)) await runBench(name)
else {
  console.error(USAGE)
  process.exitCode = 1
}

async function runBench(name: string): Promise<void> {
  const isSave = (arg: string) => arg === '--save' || arg.startsWith('--save=')
  const given = args.filter((arg) => !isSave(arg))
  const save = args.find(isSave)
  const { run } = await BENCHES[name]!()
  const result = await run(given)
  // A child process that serves a benchmark has no figures of its own.
  if (result === undefined) return
  console.log(JSON.stringify(result))
  if (save === undefined) return
  const file = saveRun(save.split('=')[1] || name, { bench: name, arguments: given, result })
  console.log(`Saved in ${file}.`)
}
