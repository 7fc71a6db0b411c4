import type { App } from '../api/app.ts'
import type { AuthorizationServer } from '../oauth/server.ts'
import type { Mailer } from '../outbound/mailer.ts'
import type { JobCounts } from '../queue/job-counts.ts'
import type { Assets } from './assets.ts'
import type { SharedPages, ViewerOf } from './layout.ts'

/** What the pages share. Each takes the few that it needs. */
export interface PageDeps extends App {
  assets: Assets
  pages: SharedPages
  viewerOf: ViewerOf
  mailer: Mailer | undefined
  /** Prints the link in development without a mail server. Never set in production. */
  printLink: ((line: string) => void) | undefined
  /** Absent: apps sign nobody in. */
  oauth: AuthorizationServer | undefined
  /** What the queues hold. @throws where Redis does not answer. */
  countJobs: () => Promise<readonly JobCounts[]>
}
