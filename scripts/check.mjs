// `npm run check`: types, lint, dead code and the rules of the house, side by side. Prints what each says in turn.
// Needs no package of its own.
import { spawn } from 'node:child_process'

// With the four checkers of default each of two cores does most of the work twice.
const CHECKS = ['tsc --checkers 2', 'tsc -p src/web/assets', 'biome check .', 'knip', 'npm run -s check:house']

const results = await Promise.all(
  CHECKS.map(
    (command) =>
      new Promise((resolve) => {
        const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
        const output = []
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
        child.on('close', (code) => resolve({ command, code, output: Buffer.concat(output) }))
      }),
  ),
)
for (const { command, code, output } of results) {
  process.stdout.write(output)
  if (code !== 0) {
    console.error(`${command} failed.`)
    process.exitCode = 1
  }
}
