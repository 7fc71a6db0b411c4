import { registerHooks } from 'node:module'

// Node reads the whole package.json of a package once for every module file in it and for every import of it.
// drizzle-orm's package.json has 179 kB, which is half of a process's start. These are the answers Node would find.

const answers = new Map()

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
