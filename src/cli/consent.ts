import { CliError, usage } from './failure.ts'
import { agreed, complain } from './terminal.ts'

/**
 * Says what is about to be deleted, and asks on a terminal.
 * @throws CliError without consent; where nobody can be asked, `--yes` is the consent
 */
export async function requireConsent(what: string, yes: boolean | undefined): Promise<void> {
  if (yes) complain(`Deleting ${what}.`)
  else if (!process.stdin.isTTY) throw usage(`This permanently deletes ${what}. Add --yes to confirm.`)
  else if (!(await agreed(`Permanently delete ${what}?`))) throw new CliError('Nothing was deleted.')
}

/** `1 frame`, `2 frames` */
export function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}
