import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// What a command writes holds keys, people's data and their films: no other user of the machine reads it.
process.umask(0o077)
// V8 keeps compiled code between starts, and Node the types it has stripped. Child processes use the same folder.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/frames/', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)
const { runCommandLine } = await import('./program.ts')
await runCommandLine(process.argv.slice(2))
