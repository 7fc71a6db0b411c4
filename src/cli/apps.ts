import type { Command } from 'commander'
import { notFound } from '../errors.ts'
import { deleteRecord, findRecord, listPermanentClients } from '../library/accounts/grants.ts'
import { registerClient, toPublicClient } from '../oauth/clients.ts'
import { answers } from './context.ts'
import { usage } from './failure.ts'
import { addExamples, type Column, table } from './terminal.ts'

interface App {
  id: string
  name: string
  returns: readonly string[]
}

/** `frames apps …`: OAuth clients that an operator registers. Others register themselves. */
export function defineApps(group: Command): void {
  answers(
    group
      .command('add')
      .description('register an app and print its client id')
      .argument('<name>', 'what people are shown')
      .requiredOption(
        '--return <urls...>',
        'addresses that receive its codes: https, or http of this machine (required)',
      ),
    async ({ db }, name: string, { return: returns }: { return: string[] }) => {
      const client = toPublicClient({ client_name: name, redirect_uris: returns }, { secrets: 'refused' })
      if (!client) throw usage('--return needs https addresses, or http addresses of localhost.')
      const app = toApp(await registerClient(db, client, { permanent: true }))
      return [app, () => app.id]
    },
  )

  answers(group.command('list').description('list the apps that were registered here'), async ({ db }) => {
    const apps = (await listPermanentClients(db)).map(toApp)
    return [{ apps }, () => (apps.length > 0 ? table(apps, COLUMNS) : 'no apps')]
  })

  answers(
    group
      .command('remove')
      .description('remove an app (its access tokens work for up to an hour; its refresh tokens stop)')
      .argument('<id>', 'client id'),
    async ({ db }, id: string) => {
      if (!(await findRecord(db, 'Client', id))) throw notFound('app')
      await deleteRecord(db, 'Client', id)
      return [{ removed: id }, () => `removed ${id}`]
    },
  )
  addExamples(
    group,
    'apps add "Studio assistant" --return https://studio.example.org/callback',
    'apps list',
    'apps remove <id>',
  )
}

function toApp(client: Record<string, unknown>): App {
  return {
    id: String(client.client_id),
    name: String(client.client_name),
    returns: client.redirect_uris as string[],
  }
}

const COLUMNS: Column<App>[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'NAME', cell: ({ name }) => name },
  { heading: 'RETURNS', cell: ({ returns }) => returns.join(' ') },
]
