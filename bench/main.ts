import type { Bench } from './support/bench.ts'
import { printReport, saveRun } from './support/report.ts'

const BENCHES: Record<string, () => Promise<Bench>> = {
  reads: () => import('./reads.ts'),
  mcp: () => import('./mcp.ts'),
  search: () => import('./search.ts'),
  'cold-search': () => import('./cold-search.ts'),
  relevance: () => import('./relevance.ts'),
  cost: () => import('./cost.ts'),
  starve: () => import('./starve.ts'),
  events: () => import('./events.ts'),
  seed: () => import('./seed.ts'),
  ingest: () => import('./ingest.ts'),
  shots: () => import('./shots.ts'),
  picks: () => import('./picks.ts'),
  annotation: () => import('./annotation.ts'),
  films: () => import('./films.ts'),
  idle: () => import('./idle.ts'),
  upgrade: () => import('./upgrade.ts'),
}

const USAGE = `npm run bench -- <name> [arguments] [--save[=<result>]]
Names: ${Object.keys(BENCHES).join(', ')}
The last line is the result as JSON. --save keeps it in bench/results.`

const [name, ...args] = process.argv.slice(2)
if (name && Object.hasOwn(BENCHES, name)) await runBench(name)
else {
  console.error(USAGE)
  process.exitCode = 1
}

async function runBench(name: string): Promise<void> {
  const isSave = (arg: string) => arg === '--save' || arg.startsWith('--save=')
  const given = args.filter((arg) => !isSave(arg))
  const save = args.find(isSave)
  const { about, run } = await BENCHES[name]!()
  const result = await run(given)
  // A child process that serves a benchmark has no figures of its own.
  if (result === undefined) return
  printReport(about, result)
  if (save !== undefined)
    console.log(`Saved in ${saveRun(save.split('=')[1] || name, { bench: name, arguments: given, result })}.`)
  console.log(JSON.stringify(result))
}
