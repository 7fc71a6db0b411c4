import { Command } from 'commander'
import { addAccountCommands } from './cli/accounts.ts'
import { addAddCommand } from './cli/add-videos.ts'
import { CliError } from './cli/context.ts'
import { addEventCommands } from './cli/events.ts'
import { addKeyCommands } from './cli/keys.ts'
import { addLibraryCommands } from './cli/library.ts'
import { addQueueCommands } from './cli/queues.ts'
import { addReannotateCommand } from './cli/reannotate.ts'
import { addServeCommands } from './cli/serve.ts'
import { addStatusCommand } from './cli/status.ts'
import { addTechniqueCommands } from './cli/techniques.ts'
import { addVideoCommands } from './cli/videos.ts'
import { ConfigError } from './config.ts'
import { isConnectionLoss } from './db/connection-loss.ts'
import { AppError } from './errors.ts'
import { LocalFailure } from './local/failure.ts'
import { scrub } from './logger.ts'
import { VERSION } from './version.ts'

const program = new Command('frames')
  .description('Frame Library: a searchable library of video frames. In a checkout run: npm run -s frames -- <command>')
  .version(VERSION)
  .showHelpAfterError()

addServeCommands(program)
addAddCommand(program)
addStatusCommand(program)
addVideoCommands(program)
addQueueCommands(program)
addReannotateCommand(program)
addTechniqueCommands(program)
addLibraryCommands(program)
addAccountCommands(program)
addKeyCommands(program)
addEventCommands(program)

try {
  await program.parseAsync()
} catch (error) {
  console.error(scrub(oneLine(error)))
  process.exitCode = 1
}

/** One line for what the user can correct. Only a fault of ours shows its stack. */
function oneLine(error: unknown): string {
  if (
    error instanceof CliError ||
    error instanceof ConfigError ||
    error instanceof AppError ||
    error instanceof LocalFailure
  )
    return error.message
  if (isConnectionLoss(error))
    return 'The database, Redis or the media store is unavailable. Check that the service is running.'
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
