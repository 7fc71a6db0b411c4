import type { Db } from '../db/client.ts'
import type { CachedReads } from '../http/cached-reads.ts'
import { type Endpoint, operationNamed } from '../http/endpoint.ts'
import type { FilmDeps } from '../views/film.ts'
import { accountEndpoints } from './accounts.ts'
import { analyticsEndpoints } from './analytics.ts'
import { type BoardsDeps, boardEndpoints, pinEndpoints } from './boards.ts'
import { type DocumentsDeps, documentEndpoints } from './documents.ts'
import { type EventsDeps, eventEndpoints } from './events.ts'
import { favouriteEndpoints } from './favourites.ts'
import { filmEndpoints, sequenceEndpoint } from './films.ts'
import { frameEndpoints } from './frames.ts'
import { type HealthDeps, healthEndpoints } from './health.ts'
import { type MediaDeps, mediaEndpoints } from './media.ts'
import type { ReadDeps } from './reads.ts'
import { searchEndpoints } from './search.ts'
import { sharedBoardEndpoints } from './shared-boards.ts'
import { type SubmitDeps, submitEndpoints } from './submit-video.ts'
import { techniqueEndpoints } from './techniques.ts'
import { boardTimelineEndpoint, filmTimelineEndpoint } from './timelines.ts'
import { brandEndpoints, videoEndpoints } from './videos.ts'
import { type WebhookDeps, webhookEndpoints } from './webhooks.ts'

type LibraryDeps = ReadDeps & FilmDeps & { db: Db; cache: CachedReads }

export type ApiDeps = LibraryDeps &
  BoardsDeps &
  SubmitDeps &
  WebhookDeps &
  MediaDeps &
  HealthDeps &
  DocumentsDeps &
  EventsDeps

/** The library: what everyone reads and operators curate. */
export const LIBRARY_ENDPOINTS: readonly Endpoint<LibraryDeps>[] = [
  ...searchEndpoints,
  ...frameEndpoints,
  ...videoEndpoints,
  filmTimelineEndpoint,
  ...filmEndpoints,
  sequenceEndpoint,
  ...techniqueEndpoints,
  ...brandEndpoints,
]

/** Everything else: images, accounts, operators, health and documents. */
export const OTHER_ENDPOINTS: readonly Endpoint<ApiDeps>[] = [
  ...mediaEndpoints,
  ...favouriteEndpoints,
  ...boardEndpoints,
  ...pinEndpoints,
  boardTimelineEndpoint,
  ...sharedBoardEndpoints,
  ...submitEndpoints,
  ...accountEndpoints,
  ...eventEndpoints,
  ...webhookEndpoints,
  ...analyticsEndpoints,
  ...healthEndpoints,
  ...documentEndpoints,
]

/** The operation that a tool or a form follows. */
export const operationOf = (id: string) => operationNamed([...LIBRARY_ENDPOINTS, ...OTHER_ENDPOINTS], id)
