import { Argument, type Command, Option } from 'commander'
import { sharedBoardEndpoints } from '../api/shared-boards.ts'
import { plural } from '../clean-text.ts'
import { exportAccount } from '../library/accounts/account-export.ts'
import {
  createAccount,
  deleteAccount,
  describeAccount,
  listAccounts,
  loadAccountByEmail,
  setDisabled,
  setPlan,
  whatAccountHolds,
} from '../library/accounts/accounts.ts'
import { createSignInCode, OPERATOR_LINK_SEC } from '../library/accounts/sessions.ts'
import { jsonPieces } from '../library/json-pieces.ts'
import { PLANS, type Plan } from '../vocabulary.ts'
import { signInUrl } from '../web/sign-in.ts'
import { answers, type CommandContext, type Result, withContext } from './context.ts'
import { linesOf } from './lines.ts'
import { defineOperations } from './operations.ts'
import { addExamples, type Column, printPieces, requireConsent } from './terminal.ts'

export function defineAccounts(group: Command): void {
  answers(group.command('list', { isDefault: true }).description('list every account'), async ({ db }) => {
    const accounts = await listAccounts(db)
    return shown({ accounts: accounts.map(describeAccount) })
  })

  answers(
    group
      .command('create')
      .description('create an account (the address must not have one yet)')
      .requiredOption('--email <address>', 'email address (required)')
      .addOption(new Option('--plan <plan>', 'its plan (default: DEFAULT_PLAN)').choices(PLANS))
      .option('--operator', 'let the account add videos, correct annotations and change plans'),
    async ({ config, db }, { email, plan, operator }: { email: string; plan?: Plan; operator?: boolean }) => {
      const given = plan ?? config.defaultPlan
      const account = await createAccount(db, { email, plan: given, role: operator ? 'operator' : 'member' })
      return shown({ account: describeAccount(account) })
    },
  )

  answers(
    ofAccount(group, 'set-plan', 'change the plan, from the next request on').addArgument(
      new Argument('<plan>', 'its new plan').choices(PLANS),
    ),
    async ({ db }, email: string, plan: Plan) => {
      const { id: accountId } = await loadAccountByEmail(db, email)
      return shown({ account: describeAccount(await setPlan(db, { accountId, plan })) })
    },
  )

  answers(
    group
      .command('link')
      .description(
        `create a sign-in link for one use within ${OPERATOR_LINK_SEC / 60} minutes (for a new address an ` +
          'invitation: the link creates its account, also with sign-up off)',
      )
      .argument('<email>', 'email address'),
    async (context, email: string) => {
      const url = await operatorLink(context, email)
      return [{ url }, () => url]
    },
  )

  addAdmission(group)
  addExport(group)

  answers(
    ofAccount(
      group,
      'delete',
      'delete an account with its keys, saves and boards (its events stay under a random id)',
    ).option('-y, --yes', 'do not ask'),
    async ({ db }, email: string, { yes }: { yes?: boolean }) => {
      const account = await loadAccountByEmail(db, email)
      const { keys, saves, boards } = await whatAccountHolds(db, account.id)
      const held = `${plural(keys, 'key')}, ${plural(saves, 'save')} and ${plural(boards, 'board')}`
      await requireConsent(`the account ${account.email} with ${held}`, yes)
      await deleteAccount(db, account.id)
      return [{ deleted: account.id }, () => `deleted ${account.email}`]
    },
  )
  addExamples(group, ...EXAMPLES)
}

const EXAMPLES = [
  'accounts list',
  'accounts create --email ann@example.org --plan pro',
  'accounts set-plan ann@example.org free',
  'accounts disable ann@example.org',
  'accounts enable ann@example.org',
  'accounts unshare https://frames.example.org/shared/flb_…',
  'accounts link ann@example.org',
  'accounts delete ann@example.org',
  'accounts export ann@example.org > ann.json',
]

function ofAccount(group: Command, name: string, description: string): Command {
  return group.command(name).description(description).argument('<email>', 'email of the account')
}

/** Who and what is let in. */
function addAdmission(group: Command): void {
  for (const act of ['disable', 'enable'] as const)
    answers(ofAccount(group, act, ACCESS[act]), async ({ db }, email: string) => {
      const { id: accountId } = await loadAccountByEmail(db, email)
      const account = await setDisabled(db, { accountId, disabled: act === 'disable' })
      return [{ account: describeAccount(account) }, () => `${act}d ${account.email}`]
    })

  const description = 'end the share link of a board, whoever owns it (its whole address will do)'
  defineOperations(group, sharedBoardEndpoints, { unshare: { of: 'endShare', description, said: 'ended' } })
}

const ACCESS = {
  disable: 'refuse its keys and share links, and end its sessions and sign-in links (all else stays)',
  enable: 'let a disabled account in again, at once',
}

function addExport(group: Command): void {
  ofAccount(group, 'export', 'print everything that is kept about a person as one JSON object')
    .option('--json', 'the same: the output is JSON')
    .action((email: string) =>
      withContext(({ db, config }) =>
        exportAccount(db, { email, publicUrl: config.publicUrl }, ({ account, lists }) =>
          printPieces(jsonPieces({ account }, lists)),
        ),
      ),
    )
}

const shown = (answer: object): Result => [answer, () => linesOf(answer, COLUMNS)]

const EMAIL: Column<ReturnType<typeof describeAccount>> = {
  heading: 'EMAIL',
  cell: ({ email, disabled_at }) => (disabled_at ? `${email} (disabled)` : email),
}
const COLUMNS = ['id', 'plan', 'role', 'created_at', EMAIL] as const

/** A sign-in link as operators hand it over. */
async function operatorLink({ config, db }: CommandContext, email: string): Promise<string> {
  const wanted = { email, newPlan: config.defaultPlan, lifetimeSec: OPERATOR_LINK_SEC }
  return signInUrl(config.publicUrl, (await createSignInCode(db, wanted))!.code)
}
