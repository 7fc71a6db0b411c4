import type { Command } from 'commander'

/** Ends a command's help with calls that work as they stand. */
export function addExamples(command: Command, ...calls: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${calls.map((call) => `  frames ${call}`).join('\n')}`)
}
