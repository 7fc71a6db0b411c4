import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * Gives the type generator a TypeScript with a JavaScript API. Version 7 has none, and a second `typescript` package
 * would replace its command. Call it before importing the generator.
 */
export function giveTypescriptToGenerators(): void {
  const bundled = pathToFileURL(createRequire(import.meta.url).resolve('@ts-morph/common')).href
  const url = `data:text/javascript,import bundle from '${bundled}';export default bundle.ts`
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'typescript' ? { url, shortCircuit: true } : next(specifier, context),
  })
}
