import { readdirSync } from 'node:fs'

const [name, ...args] = process.argv.slice(2)
const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'main.ts')
  .map((file) => file.slice(0, -3))
if (!name || !names.includes(name)) {
  console.error(`npm run bench -- <name> [arguments] [--json]; names: ${names.join(', ')}`)
  process.exit(1)
}
const { run } = (await import(`./${name}.ts`)) as { run(args: string[]): Promise<void> }
await run(args)
