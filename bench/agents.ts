import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { parseConfig } from '../src/config.ts'
import { INSTRUCTIONS } from '../src/mcp/server.ts'
import { describeTool, type Tool } from '../src/mcp/tool.ts'
import { type About, optionsOf } from './support/bench.ts'
import { askModel, type Choice, judge, QUESTIONS, type Question, TOOLS } from './support/tool-choice.ts'

/** With VISION_BASE_URL and VISION_MODEL that model chooses too. `--verbose` names the questions that miss. */
export const about: About = {
  measures: 'How many of 40 questions of people lead to the right tool with the right arguments. No tool is called.',
  against: 'all of them. `bench/support/agent-questions.txt` has the questions and the recorded choices.',
  figures: [
    { what: 'right, by the recorded table', at: ['recorded', 'right'], atLeast: 40 },
    { what: 'right, by the model that is set', at: ['model', 'right'] },
    { what: 'tokens (o200k) of an operator’s list', at: ['tokens', 'operator'], atMost: 5_000 },
    { what: 'tokens of the open list', at: ['tokens', 'open'], atMost: 2_500 },
  ],
}

export async function run(args: string[]): Promise<object> {
  const { verbose } = optionsOf(args, { verbose: false })
  const { vision } = parseConfig(process.env)
  const count = async (choose: (question: Question) => Promise<Choice | undefined>) => {
    const counted = { right: 0, 'wrong arguments': 0, 'wrong tool': 0, of: QUESTIONS.length }
    for (const question of QUESTIONS) {
      const chosen = await choose(question)
      const verdict = judge(question.right, chosen)
      counted[verdict]++
      if (verbose && verdict !== 'right') console.log(`${verdict}: ${question.ask} ${JSON.stringify(chosen)}`)
    }
    return counted
  }
  const tokens = (tools: readonly Tool[]) =>
    encode(JSON.stringify(tools.map((tool) => ({ ...describeTool(tool), _meta: undefined })))).length
  return {
    bench: 'agents',
    recorded: await count(async ({ chosen }) => chosen),
    ...(vision ? { model: { ...(await count(({ ask }) => askModel(vision, ask))), name: vision.model } } : {}),
    tokens: {
      operator: tokens(TOOLS),
      open: tokens(TOOLS.filter(({ scope }) => scope === null)),
      instructions: encode(INSTRUCTIONS).length,
    },
  }
}
