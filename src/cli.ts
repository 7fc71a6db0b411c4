import { startQuickly } from './quick-start.ts'

// What a command writes holds keys, people's data and their films: no other user of the machine reads it.
process.umask(0o077)
startQuickly()
const { runCommandLine } = await import('./cli/program.ts')
await runCommandLine(process.argv.slice(2))
