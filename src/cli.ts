import { startQuickly } from './quick-start.ts'

startQuickly()
const { runCommandLine } = await import('./cli/program.ts')
await runCommandLine(process.argv.slice(2))
