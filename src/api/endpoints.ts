import { type Endpoint, operationNamed } from '../http/endpoint.ts'
import { accountEndpoints } from './accounts.ts'
import { analyticsEndpoints } from './analytics.ts'
import type { App } from './app.ts'
import { boardEndpoints, pinEndpoints } from './boards.ts'
import { documentEndpoints } from './documents.ts'
import { eventEndpoints } from './events.ts'
import { favouriteEndpoints } from './favourites.ts'
import { filmEndpoints, sequenceEndpoint } from './films.ts'
import { frameEndpoints } from './frames.ts'
import { healthEndpoints } from './health.ts'
import { mediaEndpoints } from './media.ts'
import { searchEndpoints } from './search.ts'
import { sharedBoardEndpoints } from './shared-boards.ts'
import { submitEndpoints } from './submit-video.ts'
import { techniqueEndpoints } from './techniques.ts'
import { boardBriefEndpoint, boardTimelineEndpoint, filmBriefEndpoint, filmTimelineEndpoint } from './timelines.ts'
import { brandEndpoints, videoEndpoints } from './videos.ts'
import { webhookEndpoints } from './webhooks.ts'

/** The library: what everyone reads and operators curate. */
export const LIBRARY_ENDPOINTS: readonly Endpoint<App>[] = [
  ...searchEndpoints,
  ...frameEndpoints,
  ...videoEndpoints,
  filmTimelineEndpoint,
  filmBriefEndpoint,
  ...filmEndpoints,
  sequenceEndpoint,
  ...techniqueEndpoints,
  ...brandEndpoints,
]

/** Everything else: images, accounts, operators, health and documents. */
export const OTHER_ENDPOINTS: readonly Endpoint<App>[] = [
  ...mediaEndpoints,
  ...favouriteEndpoints,
  ...boardEndpoints,
  ...pinEndpoints,
  boardTimelineEndpoint,
  boardBriefEndpoint,
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
