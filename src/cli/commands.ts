import type { Command } from 'commander'

/** What the help lists, and where a command's own options and actions are: loaded only when it is named. */
export interface CommandEntry {
  name: string
  description: string
  /** The heading above it in the help. */
  group: string
  /** It runs until a signal, whether or not its output is read. */
  runsOn?: true
  load(): Promise<(command: Command) => void>
}

export const SERVICE = 'Run the service:'
const VIDEOS = 'Videos:'
const WORK = 'Work in progress:'
const LIBRARY = 'Library:'
const BACKUPS = 'Backups:'
const PEOPLE = 'People and programs:'

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'start',
    description: 'run the whole service here, with its own PostgreSQL and Redis unless their URLs are set',
    group: SERVICE,
    runsOn: true,
    load: async () => (await import('./serve.ts')).defineStart,
  },
  {
    name: 'api',
    description: 'serve HTTP (needs DATABASE_URL and REDIS_URL)',
    group: SERVICE,
    runsOn: true,
    load: async () => (await import('./serve.ts')).defineApi,
  },
  {
    name: 'worker',
    description: 'process jobs and project events (needs DATABASE_URL and REDIS_URL)',
    group: SERVICE,
    runsOn: true,
    load: async () => (await import('./serve.ts')).defineWorker,
  },
  {
    name: 'migrate',
    description: 'migrate the database, and create the operator with a key in DATA_DIR on the first run',
    group: SERVICE,
    load: async () => (await import('./serve.ts')).defineMigrate,
  },
  {
    name: 'add',
    description: 'add videos from files or https URLs (adding a source again gives the same video)',
    group: VIDEOS,
    load: async () => (await import('./add-videos.ts')).defineAdd,
  },
  {
    name: 'draft',
    description: 'measure an unpublished film against the library of a running service; only its owner sees it',
    group: VIDEOS,
    load: async () => (await import('./draft.ts')).defineDraft,
  },
  {
    name: 'status',
    description: 'show the newest videos, or everything about one',
    group: VIDEOS,
    load: async () => (await import('./videos.ts')).defineStatus,
  },
  {
    name: 'retry',
    description: 'put failed or cancelled videos back into the queue',
    group: VIDEOS,
    load: async () => (await import('./videos.ts')).defineRetry,
  },
  {
    name: 'cancel',
    description: 'stop processing videos',
    group: VIDEOS,
    load: async () => (await import('./videos.ts')).defineCancel,
  },
  {
    name: 'delete',
    description: 'delete videos with their frames, saves and pins',
    group: VIDEOS,
    load: async () => (await import('./videos.ts')).defineDelete,
  },
  {
    name: 'queues',
    description: 'show the waiting, running and failed jobs of each queue, and what holds work up',
    group: WORK,
    load: async () => (await import('./queues.ts')).defineQueues,
  },
  {
    name: 'pause',
    description: 'stop starting jobs (running jobs finish)',
    group: WORK,
    load: async () => (await import('./queues.ts')).definePause,
  },
  {
    name: 'resume',
    description: 'start jobs again',
    group: WORK,
    load: async () => (await import('./queues.ts')).defineResume,
  },
  {
    name: 'reextract',
    description:
      'pick the frames of old videos again, after all live work (frames that people saved or corrected stay)',
    group: WORK,
    load: async () => (await import('./reextract.ts')).defineReextract,
  },
  {
    name: 'reannotate',
    description: 'describe frames again with the active annotator, after all live work (corrections by people stay)',
    group: WORK,
    load: async () => (await import('./reannotate.ts')).defineReannotate,
  },
  {
    name: 'evaluate',
    description: 'measure a vision model on this library: agreement, refusals, latency and cost',
    group: LIBRARY,
    load: async () => (await import('./evaluate.ts')).defineEvaluate,
  },
  {
    name: 'style',
    description: 'show vision models how people here correct frames, as examples',
    group: LIBRARY,
    load: async () => (await import('./evaluate.ts')).defineStyle,
  },
  {
    name: 'techniques',
    description: 'list, change and review the vocabulary of techniques',
    group: LIBRARY,
    load: async () => (await import('./techniques.ts')).defineTechniques,
  },
  {
    name: 'reindex',
    description: 'rebuild the search documents from the database, then swap them in (reads continue)',
    group: LIBRARY,
    load: async () => (await import('./library.ts')).defineReindex,
  },
  {
    name: 'reconcile',
    description: 'compare the search documents with the database and repair missing, stale and extra ones',
    group: LIBRARY,
    load: async () => (await import('./library.ts')).defineReconcile,
  },
  {
    name: 'storage',
    description: 'find files in the media store that no row names, and rows whose file is missing',
    group: LIBRARY,
    load: async () => (await import('./library.ts')).defineStorage,
  },
  {
    name: 'backup',
    description: 'back up the database, the images and the operator key, also while the service runs',
    group: BACKUPS,
    load: async () => (await import('./backup.ts')).defineBackup,
  },
  {
    name: 'verify-backup',
    description: 'read a backup and compare every file with its checksum',
    group: BACKUPS,
    load: async () => (await import('./backup.ts')).defineVerifyBackup,
  },
  {
    name: 'restore',
    description: 'restore a backup into an empty database, with the service stopped',
    group: BACKUPS,
    load: async () => (await import('./backup.ts')).defineRestore,
  },
  {
    name: 'upgrade-database',
    description: 'bring the local database to the PostgreSQL of this version, and keep the old one beside it',
    group: BACKUPS,
    load: async () => (await import('./upgrade-database.ts')).defineUpgradeDatabase,
  },
  {
    name: 'accounts',
    description: 'list, create and delete accounts, change plans, create sign-in links',
    group: PEOPLE,
    load: async () => (await import('./accounts.ts')).defineAccounts,
  },
  {
    name: 'keys',
    description: 'create, list, rotate and revoke API keys',
    group: PEOPLE,
    load: async () => (await import('./keys.ts')).defineKeys,
  },
  {
    name: 'apps',
    description: 'register, list and remove OAuth clients that cannot register themselves',
    group: PEOPLE,
    load: async () => (await import('./apps.ts')).defineApps,
  },
  {
    name: 'connect',
    description: 'check that assistants can connect at PUBLIC_URL',
    group: PEOPLE,
    load: async () => (await import('./connect.ts')).defineConnect,
  },
  {
    name: 'events',
    description: 'print, follow and export the event log, replay it, and try dead events again',
    group: PEOPLE,
    load: async () => (await import('./events.ts')).defineEvents,
  },
  {
    name: 'webhooks',
    description: 'register receivers of events, pause and resume them, see what was sent and answered',
    group: PEOPLE,
    load: async () => (await import('./webhooks.ts')).defineWebhooks,
  },
]

/** Writes what every command takes into a script, so it loads them all. */
export const COMPLETION = {
  name: 'completion',
  description: 'print a script that completes commands and options in bash, zsh or fish',
  group: 'Shell:',
}
