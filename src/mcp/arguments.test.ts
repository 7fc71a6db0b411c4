import { expect, test } from 'vitest'
import { z } from 'zod'
import { argumentReader } from './arguments.ts'
import { defineTool, READS } from './tool.ts'

test('an argument called __proto__ is unknown, and sets no other', () => {
  const tool = defineTool({
    ...{ name: 'find', title: 'Find', description: 'Finds.', annotations: READS, price: 'read', scope: null },
    input: z.strictObject({ word: z.string(), limit: z.number().default(5) }),
    output: z.object({}),
    run: async () => ({ text: '', structured: {} }),
  })
  const { args } = argumentReader(tool)(JSON.parse('{"word":"kite","__proto__":{"limit":1}}'))
  expect(tool.input.safeParse(args).error?.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['__proto__'] }])
})
