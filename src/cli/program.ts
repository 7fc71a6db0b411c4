import { Command, CommanderError } from 'commander'
import { VERSION } from '../config.ts'
import { COMMANDS, SERVICE, SERVICES } from './commands.ts'
import { CliError, EXIT, similarNames, usage } from './failure.ts'
import { complain } from './terminal.ts'

const DESCRIPTION =
  'Frame Library: a searchable library of video frames.\nIn a checkout run: npm run -s frames -- <command>'

const EXIT_CODES = `
Exit codes: ${EXIT.done} done, ${EXIT.failed} failed or partly failed, ${EXIT.usage} called wrongly, ${
  EXIT.unavailable
} service unavailable.`

/** Runs one command and sets the exit code. Prints one line for what the user can correct. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    // `frames events | head` closes the pipe early. A service runs on after `npm start | head`, and stops in order.
    if (!isService(args)) process.exit(EXIT.done)
  })
  // A message that no one reads is lost, as after `npm start 2>&1 | less`. The service log has those of the service.
  process.stderr.on('error', () => undefined)
  try {
    const program = await openProgram(args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage
    else if (error instanceof CliError) fail(error.message, error.exitCode)
    else {
      const { describeFailure } = await import('./describe-failure.ts')
      const { text, exitCode } = describeFailure(error)
      fail(text, exitCode)
    }
  }
}

function fail(text: string, exitCode: number): void {
  complain(text)
  process.exitCode = exitCode
}

/**
 * The program with the commands that `args` name. The others stand in it by name and description only, so that a
 * command loads what it needs itself.
 * @throws CliError for a command that does not exist
 */
async function openProgram(args: readonly string[]): Promise<Command> {
  const named = namedIn(args)
  const known = COMMANDS.map(({ name }) => name)
  if (named !== undefined && !known.includes(named)) throw unknownCommand(named, known)
  const program = new Command('frames')
    .description(DESCRIPTION)
    .version(VERSION)
    .exitOverride()
    // An option belongs to the command before it.
    .enablePositionalOptions()
    .showHelpAfterError('Run frames --help for the list.')
    .configureOutput({ writeErr: (text) => complain(text.trimEnd()) })
    .addHelpText('afterAll', EXIT_CODES)
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.description).helpGroup(entry.group)
    if (entry.name !== named) continue
    const define = await entry.load()
    define(command)
    if (entry.group !== SERVICE) offerJson(command)
    pointToHelp(command, entry.name)
    refuseUnknownPart(command, args)
  }
  return program
}

/** Every command with a result prints it as JSON on request. Some say more about it. */
function offerJson(command: Command): void {
  command.commands.forEach(offerJson)
  if (command.commands.length === 0 && !command.options.some(({ long }) => long === '--json'))
    command.option('--json', 'print one JSON object')
}

/** A wrong call is answered with the help of the very part that was called. */
function pointToHelp(command: Command, path: string): void {
  command.showHelpAfterError(`Run frames ${path} --help for what it takes.`)
  for (const part of command.commands) pointToHelp(part, `${path} ${part.name()}`)
}

/** A group such as `accounts` would take a mistyped word for too many arguments of its default command. */
function refuseUnknownPart(group: Command, args: readonly string[]): void {
  const next = args[args.indexOf(group.name()) + 1]
  // Behind an option a word may be its value.
  const part = next?.startsWith('-') ? undefined : next
  const known = group.commands.map((command) => `${group.name()} ${command.name()}`)
  const given = `${group.name()} ${part}`
  if (part !== undefined && part !== 'help' && known.length > 0 && !known.includes(given) && args[0] !== 'help')
    throw unknownCommand(given, known)
}

/** The first word that is no option, or the one after `help`. */
function namedIn(args: readonly string[]): string | undefined {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'))
  return first === 'help' ? second : first
}

const isService = (args: readonly string[]): boolean => SERVICES.includes(namedIn(args) ?? '')

function unknownCommand(given: string, known: readonly string[]): CliError {
  const near = similarNames(given, known)
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''
  return usage(`There is no command ${given}.${hint} Run frames --help for the list.`)
}
