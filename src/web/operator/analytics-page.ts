import { FIGURES } from '../../library/analytics/figures.ts'
import { countedThrough } from '../../library/analytics/read.ts'
import { type Parameters, readParameters } from '../../parameters.ts'
import { dayParameter, toDayRange } from '../../views/analytics.ts'
import type { Actions } from '../actions.ts'
import { html } from '../html.ts'
import { analyticsView } from './analytics-view.ts'
import type { OperatorDeps } from './operator-deps.ts'

const parameters = {
  from: { schema: dayParameter, description: 'The first day.' },
  to: { schema: dayParameter, description: 'The last day.' },
} as const satisfies Parameters

const TOP = 12

/** `/operator/analytics`: what people save and search, how long videos take, what the model costs. */
export function addAnalyticsPage(actions: Actions, { db, search, assets }: OperatorDeps): void {
  const sheet = (name: string) => html`<link rel="stylesheet" href="${assets.url(name)}">\n`
  actions.page('/operator/analytics', 'operator', async ({ req }) => {
    const range = toDayRange(readParameters(req.originalUrl, parameters))
    const ranged = { ...range, limit: TOP }
    const by = (dimension: string) => FIGURES.saves.read(db, dimension, ranged)
    const [
      saves,
      activity,
      videos,
      failures,
      stages,
      model,
      models,
      searches,
      terms,
      frame,
      brand,
      technique,
      subject,
      until,
    ] = await Promise.all([
      by('day'),
      FIGURES.activity.read(db, 'day', ranged),
      FIGURES.videos.read(db, 'day', ranged),
      FIGURES.videos.read(db, 'failure', ranged),
      FIGURES.stages.read(db, 'stage', ranged),
      FIGURES.model.read(db, 'day', ranged),
      FIGURES.model.read(db, 'model', ranged),
      FIGURES.searches.read(db, 'day', ranged),
      FIGURES.searches.read(db, 'term', ranged),
      by('frame'),
      by('brand'),
      by('technique'),
      by('subject'),
      countedThrough(db),
    ])
    const ids = frame.flatMap(({ key }) => key ?? [])
    const found = ids.length > 0 ? await search.framesByIds(ids) : []
    const body = analyticsView({
      ...range,
      countedThrough: until,
      saves,
      activity,
      videos,
      failures,
      stages,
      model,
      models,
      searches,
      terms,
      top: { frame, brand, technique, subject },
      frames: new Map(found.map((one) => [one.id, one])),
    })
    return {
      title: 'Analytics',
      current: 'operator',
      wide: true,
      modules: ['analytics.js'],
      head: html`${sheet('uplot.css')}${sheet('analytics.css')}`,
      body,
    }
  })
}
