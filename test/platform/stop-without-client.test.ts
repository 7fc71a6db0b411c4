import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { openService } from '../support/service.ts'

test('a stop says nothing of a search whose client has gone', async () => {
  const asked = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<unknown>()
  const service = await openService({
    worker: false,
    overrides: {
      search: (search) => ({
        ...search,
        async frames(query) {
          asked.resolve()
          await goOn.promise
          return await search.frames(query).catch((error: unknown) => {
            ended.resolve(error)
            throw error
          })
        },
      }),
    },
  })
  const client = connect(service.api.port, '127.0.0.1')
  client.write('GET /api/frames?q=anything HTTP/1.1\r\nHost: x\r\n\r\n')
  await asked.promise
  client.destroy()
  await service[Symbol.asyncDispose]()
  goOn.resolve()
  expect(await ended.promise).toBeInstanceOf(Error)
  await new Promise((resolve) => setImmediate(resolve))
  expect(service.logs.filter((line) => line.includes('request failed'))).toEqual([])
})
