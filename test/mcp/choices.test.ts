import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { askModel, judge, QUESTIONS, TOOLS } from '../../bench/support/tool-choice.ts'
import { INSTRUCTIONS } from '../../src/mcp/server.ts'
import { listenOn } from '../support/listening.ts'

/** The evaluation of choice: a question of a person, and the tool and arguments that a model takes for it. */

test('every recorded choice is right, and the forty questions ask for every tool', () => {
  expect(QUESTIONS).toHaveLength(40)
  for (const { ask, right, chosen } of QUESTIONS) expect([ask, judge(right, chosen)]).toEqual([ask, 'right'])
  const asked = new Set(QUESTIONS.flatMap(({ right }) => right.map(({ tool }) => tool)))
  expect(TOOLS.map(({ name }) => name).filter((name) => !asked.has(name))).toEqual([])
})

const dark = [{ tool: 'browse_frames', args: { tone: ['dark'], color: 'navy' } }]
test.each([
  [undefined, 'wrong tool'],
  [{ tool: 'list_boards', args: {} }, 'wrong tool'],
  [{ tool: 'search_library', args: {} }, 'wrong tool'],
  [{ tool: 'browse_frames', args: {} }, 'wrong arguments'],
  [{ tool: 'browse_frames', args: { tone: 'bright', color: 'blue' } }, 'wrong arguments'],
  [{ tool: 'browse_frames', args: { tone: 'dark', color: 'blue', mood: 'calm' } }, 'wrong arguments'],
  // As the tool reads them, and more of them.
  [{ tool: 'browse_frames', args: { filters: { tone: 'Dark', colour: 'blue' }, limit: 5 } }, 'right'],
] as const)('%j is %s', (chosen, verdict) => {
  expect(judge(dark, chosen)).toBe(verdict)
})

test('what is null in the table must be absent', () => {
  const asked = [{ tool: 'remove', args: { board_id: 'Night', confirm: null } }]
  const verdicts = [{}, { confirm: true }].map((more) => {
    return judge(asked, { tool: 'remove', args: { board_id: 'Night', ...more } })
  })
  expect(verdicts).toEqual(['right', 'wrong arguments'])
})

test('a model sees the instructions and every tool; its first call is its choice', async () => {
  const answers: object[] = [
    { tool_calls: [{ id: '1', type: 'function', function: { name: 'get_board', arguments: '{"board_id":"Night"}' } }] },
    { content: 'I would look at the board.' },
    { tool_calls: [{ id: '2', type: 'function', function: { name: 'get_board', arguments: '{"board' } }] },
  ]
  // biome-ignore lint/suspicious/noExplicitAny: a request is looked into
  const heard: any[] = []
  await using endpoint = await listenOn(
    createServer(async (request, response) => {
      heard.push(await json(request))
      const message = { role: 'assistant', content: null, ...answers[heard.length - 1] }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ id: 'x', object: 'chat.completion', choices: [{ index: 0, message }] }))
    }),
  )
  const vision = { baseUrl: `${endpoint.url}/v1`, model: 'fake' }
  const right = [{ tool: 'get_board', args: { board_id: 'Night' } }]
  const verdicts = []
  for (const _ of answers) verdicts.push(judge(right, await askModel(vision, 'Open Night.')))
  expect(verdicts).toEqual(['right', 'wrong tool', 'wrong arguments'])
  const [{ messages, tools }] = heard
  expect(messages.map(({ content }: { content: string }) => content)).toEqual([INSTRUCTIONS, 'Open Night.'])
  expect(tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual(TOOLS.map(({ name }) => name))
})
