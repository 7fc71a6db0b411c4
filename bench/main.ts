import type { Bench } from './support/bench.ts'
import { printReport, saveRun } from './support/report.ts'

const REQUESTS = ['reads', 'mcp', 'agents', 'search', 'relevance', 'meaning', 'cost', 'starve']
const BENCHES = [...REQUESTS, 'ingest', 'shots', 'picks', 'annotation']

const USAGE = `npm run bench -- <name> [arguments] [--json] [--save[=<result>]]
Names: ${BENCHES.join(', ')}
The last line is the result as JSON. --json leaves the report out, --save keeps the result in bench/results.`

const [name, ...args] = process.argv.slice(2)
if (name && BENCHES.includes(name)) await runBench(name)
else {
  console.error(USAGE)
  process.exitCode = 1
}

async function runBench(name: string): Promise<void> {
  const isSave = (arg: string) => arg === '--save' || arg.startsWith('--save=')
  const given = args.filter((arg) => !isSave(arg) && arg !== '--json')
  const save = args.find(isSave)
  const { about, run } = (await import(`./${name}.ts`)) as Bench
  const result = await run(given)
  // A child process that serves a benchmark has no figures of its own.
  if (result === undefined) return
  if (!args.includes('--json')) printReport(about, result)
  if (save !== undefined)
    console.log(`Saved in ${saveRun(save.split('=')[1] || name, { bench: name, arguments: given, result })}.`)
  console.log(JSON.stringify(result))
}
