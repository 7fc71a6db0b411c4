import { Router } from 'express'
import type { Db } from '../db/client.ts'
import { invalid } from '../errors.ts'
import { formatCursor, parseCursor, START, toCloudEvent } from '../events/catalogue.ts'
import { readEvents } from '../events/read.ts'
import type { Authentication } from '../http/authenticate.ts'
import { readParameters } from '../parameters.ts'
import { EVENTS_LIMIT, eventParameters } from './collection-parameters.ts'

/** The event log in commit-safe order, as CloudEvents, for operators' machines. `next` is always a cursor to go on from. */
export function eventsRouter({
  db,
  publicUrl,
  authentication: { requireScope },
}: {
  db: Db
  publicUrl: string
  authentication: Authentication
}): Router {
  const router = Router()

  router.get('/api/events', requireScope('events:read'), async (req, res) => {
    const { after: given, types, limit = EVENTS_LIMIT.default } = readParameters(req.originalUrl, eventParameters)
    const after = given === undefined ? START : parseCursor(given)
    if (!after) throw invalid('after', 'after: not a cursor of this log.')
    const { events, next } = await readEvents(db, { after, types, limit })
    res.json({ events: events.map((event) => toCloudEvent(event, publicUrl)), next: formatCursor(next) })
  })

  return router
}
