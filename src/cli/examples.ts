import type { Command } from 'commander'

/**
 * Ends a command's help with calls that work as they stand. Parts that the command has by then end theirs with the
 * calls that name them.
 */
export function addExamples(command: Command, ...calls: readonly string[]): Command {
  for (const part of command.commands) {
    const own = calls.filter((call) => `${call} `.includes(`${command.name()} ${part.name()} `))
    if (own.length > 0) addExamples(part, ...own)
  }
  return command.addHelpText('after', `\nExamples:\n${calls.map((call) => `  frames ${call}`).join('\n')}`)
}
