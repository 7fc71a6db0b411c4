import { accessSync, constants } from 'node:fs'
import { makeFolder } from '../backup/make-folder.ts'
import { describeAccess } from './describe-access.ts'
import { CliError } from './failure.ts'

/** Fails at the start, instead of with every video. @throws CliError with what to do */
export function requireWritable(folder: string): void {
  try {
    makeFolder(folder)
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    const text = describeAccess(error)
    if (text) throw new CliError(text)
    throw error
  }
}
