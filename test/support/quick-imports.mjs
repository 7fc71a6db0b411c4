import { registerHooks } from 'node:module'

// Node reads a package's whole package.json for every module file of it, and drizzle-orm's has 179 kB: half of a
// process's start. This answers for those files what Node would find, and halves what the tests spend on starts.
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('.') || !context.parentURL?.includes('/node_modules/drizzle-orm/'))
      return next(specifier, context)
    return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
  },
})
