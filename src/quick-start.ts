import { enableCompileCache, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const CACHE_DIR = fileURLToPath(new URL('../node_modules/.cache/frames/', import.meta.url))

let started = false

/**
 * Makes the imports after this call cheap. A process calls it first and imports the rest dynamically.
 *
 * V8 keeps compiled code between starts, and Node the types it has stripped. `npm start` and the image name the same
 * folder in NODE_COMPILE_CACHE. Then Node does not load its type stripper, which holds 13 MB, for the first two files.
 * A folder that cannot be written is no fault: then only what is in it already is used.
 */
export function startQuickly(): void {
  if (started) return
  started = true
  enableCompileCache(CACHE_DIR)
  rememberDrizzle()
}

/**
 * Node reads the whole package.json of a package once for every module file in it and for every import of it. That of
 * drizzle-orm has 179 kB: it took half a second and 170 MB in each process. These are the answers Node would find.
 */
function rememberDrizzle(): void {
  const answers = new Map<string, { url: string }>()
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith('.') && context.parentURL?.includes('/node_modules/drizzle-orm/'))
        return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
      if (specifier !== 'drizzle-orm' && !specifier.startsWith('drizzle-orm/')) return next(specifier, context)
      const key = `${specifier} ${context.conditions.join()}`
      const answer = answers.get(key) ?? next(specifier, context)
      answers.set(key, answer)
      return { ...answer, shortCircuit: true }
    },
  })
}
