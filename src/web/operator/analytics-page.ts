import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { countedThrough, FIGURES } from '../../library/analytics/figures.ts'
import type { Parameters } from '../../parameters.ts'
import { dayParameter, toDayRange } from '../../views/analytics.ts'
import type { Actions } from '../actions.ts'
import type { PageDeps } from '../page-deps.ts'
import { analyticsView, CHARTS, type Days } from './analytics-view.ts'

const parameters = {
  from: { schema: dayParameter, description: 'The first day.' },
  to: { schema: dayParameter, description: 'The last day.' },
  chart: { schema: z.enum(CHARTS), description: 'The chart that is shown.' },
} as const satisfies Parameters

const TOP = 12

/** `/operator/analytics`: what people save and search, how long videos take, what the model costs. */
export function addAnalyticsPage(actions: Actions, { db, search }: PageDeps): void {
  actions.page('/operator/analytics', 'operator', { parameters, price: 'heavy' }, async ({ query }) => {
    const range = toDayRange(query)
    const ranged = { ...range, limit: TOP }
    const by = (dimension: string) => FIGURES.saves.read(db, dimension, ranged)
    const through = await countedThrough(db)
    const { frame, brand, technique, subject, days, ...series } = await allOf({
      days: daysOf(db, range),
      before: daysOf(db, before(range)),
      failures: FIGURES.videos.read(db, 'failure', ranged),
      stages: FIGURES.stages.read(db, 'stage', ranged),
      models: FIGURES.model.read(db, 'model', ranged),
      terms: FIGURES.searches.read(db, 'term', ranged),
      frame: by('frame'),
      brand: by('brand'),
      technique: by('technique'),
      subject: by('subject'),
    })
    const ids = frame.flatMap(({ key }) => key ?? [])
    const found = ids.length > 0 ? await search.framesByIds(ids) : []
    const frames = new Map(found.map((one) => [one.id, one]))
    const techniques = new Map((await search.techniques()).map(({ slug, name }) => [slug, name]))
    const body = analyticsView({
      ...range,
      ...days,
      chart: query.chart ?? 'saves',
      ...series,
      countedThrough: through,
      top: { frame, brand, technique, subject },
      techniques,
      frames,
    })
    return { title: 'Analytics', current: 'operator', wide: true, body }
  })
}

interface Range {
  from: string
  to: string
}

const DAY_MS = 86_400_000

/** As many days before a range. */
function before({ from, to }: Range): Range {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  const length = Date.parse(to) - Date.parse(from) + DAY_MS
  return { from: day(Date.parse(from) - length), to: day(Date.parse(from) - DAY_MS) }
}

function daysOf(db: Db, range: Range): Promise<Days> {
  const ranged = { ...range, limit: TOP }
  return allOf({
    saves: FIGURES.saves.read(db, 'day', ranged),
    activity: FIGURES.activity.read(db, 'day', ranged),
    videos: FIGURES.videos.read(db, 'day', ranged),
    searches: FIGURES.searches.read(db, 'day', ranged),
  })
}

/** Waits for all values of an object at once. */
async function allOf<T extends Record<string, unknown>>(given: T): Promise<{ [Name in keyof T]: Awaited<T[Name]> }> {
  const values = await Promise.all(Object.entries(given).map(async ([name, value]) => [name, await value]))
  return Object.fromEntries(values)
}
