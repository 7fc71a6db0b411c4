import type { Command } from 'commander'

/** What the help lists, and where a command's own options and actions are: loaded only when it is named. */
export interface CommandEntry {
  name: string
  description: string
  /** The heading above it in the help. */
  group: string
  load: Load
}

type Load = () => Promise<(command: Command) => void>

const inGroup = (group: string, commands: Readonly<Record<string, [description: string, load: Load]>>) =>
  Object.entries(commands).map(([name, [description, load]]): CommandEntry => ({ name, description, group, load }))

export const SERVICE = 'Run the service:'
/** They run until a signal, whether or not their output is read. */
export const SERVICES: readonly string[] = ['start', 'api', 'worker']

export const COMMANDS: readonly CommandEntry[] = [
  ...inGroup(SERVICE, {
    start: [
      'run the whole service here, with its own PostgreSQL and Redis unless their URLs are set',
      async () => (await import('./serve.ts')).defineStart,
    ],
    api: ['serve HTTP (needs DATABASE_URL and REDIS_URL)', async () => (await import('./serve.ts')).defineApi],
    worker: [
      'process jobs and project events (needs DATABASE_URL and REDIS_URL)',
      async () => (await import('./serve.ts')).defineWorker,
    ],
    migrate: [
      'migrate the database, and create the operator with a key in DATA_DIR on the first run',
      async () => (await import('./serve.ts')).defineMigrate,
    ],
  }),
  ...inGroup('Videos:', {
    add: [
      'add videos from files or https URLs (adding a source again gives the same video)',
      async () => (await import('./add-videos.ts')).defineAdd,
    ],
    status: ['show the newest videos, or everything about one', async () => (await import('./videos.ts')).defineStatus],
    retry: [
      'put failed or cancelled videos back into the queue',
      async () => (await import('./videos.ts')).defineRetry,
    ],
    edit: ['change title, brand, platform or date of a video', async () => (await import('./videos.ts')).defineEdit],
    brands: ['merge two spellings of a brand', async () => (await import('./videos.ts')).defineBrands],
    cancel: ['stop processing videos', async () => (await import('./videos.ts')).defineCancel],
    delete: ['delete videos with their frames, saves and pins', async () => (await import('./videos.ts')).defineDelete],
  }),
  ...inGroup('Work in progress:', {
    queues: [
      'show the waiting, running and failed jobs of each queue, and what holds work up',
      async () => (await import('./queues.ts')).defineQueues,
    ],
    pause: ['stop starting jobs (running jobs finish)', async () => (await import('./queues.ts')).definePause],
    resume: ['start jobs again', async () => (await import('./queues.ts')).defineResume],
    reextract: [
      'pick the frames of old videos again, after all live work (frames that people saved, pinned or corrected stay)',
      async () => (await import('./reextract.ts')).defineReextract,
    ],
    reannotate: [
      'describe frames again with the active annotator, after all live work (corrections by people stay)',
      async () => (await import('./reannotate.ts')).defineReannotate,
    ],
  }),
  ...inGroup('Library:', {
    vision: [
      'check that the configured model can describe frames, and what the library would cost',
      async () => (await import('./vision.ts')).defineVision,
    ],
    techniques: [
      'list, change and review the vocabulary of techniques',
      async () => (await import('./techniques.ts')).defineTechniques,
    ],
    reindex: [
      'rebuild the search documents from the database, then swap them in (reads continue)',
      async () => (await import('./library.ts')).defineReindex,
    ],
    reconcile: [
      'compare the search documents with the database and repair those that differ',
      async () => (await import('./library.ts')).defineReconcile,
    ],
    storage: [
      'find files in the media store that no row names, and rows whose file is missing',
      async () => (await import('./library.ts')).defineStorage,
    ],
  }),
  ...inGroup('Backups:', {
    backup: [
      'back up the database, the images and the operator key, also while the service runs',
      async () => (await import('./backup.ts')).defineBackup,
    ],
    'verify-backup': [
      'read a backup and compare every file with its checksum',
      async () => (await import('./backup.ts')).defineVerifyBackup,
    ],
    restore: [
      'restore a backup into an empty database, with the service stopped',
      async () => (await import('./backup.ts')).defineRestore,
    ],
  }),
  ...inGroup('People and programs:', {
    accounts: [
      'list, create and delete accounts, change plans, create sign-in links',
      async () => (await import('./accounts.ts')).defineAccounts,
    ],
    keys: ['create, list, rotate and revoke API keys', async () => (await import('./keys.ts')).defineKeys],
    connect: [
      'check that assistants can connect at PUBLIC_URL',
      async () => (await import('./connect.ts')).defineConnect,
    ],
    events: [
      'print, follow and export the event log, replay it, and try dead events again',
      async () => (await import('./events.ts')).defineEvents,
    ],
    webhooks: [
      'register receivers of events, pause and resume them, see what was sent and answered',
      async () => (await import('./webhooks.ts')).defineWebhooks,
    ],
  }),
]
