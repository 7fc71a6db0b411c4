import { z } from 'zod'
import { type Endpoint, endpoint } from '../http/endpoint.ts'
import { FIGURES, type Figure } from '../library/analytics/figures.ts'
import { dayParameter, NAMES, namedShape, readReport, toReportCsv } from '../views/analytics.ts'
import { limitUpTo } from '../views/parameters.ts'
import type { App } from './app.ts'

const LIMIT = { default: 100, max: 1_000 } as const

/** Figures counted from the events alone, one endpoint for each table of figures. */
export const analyticsEndpoints: readonly Endpoint<App>[] = Object.entries<Figure>(FIGURES).map(([name, figure]) =>
  toEndpoint(name, figure),
)

function toEndpoint(name: string, figure: Figure): Endpoint<App> {
  const columns = Object.keys(figure.columns)
  const title = `Analytics${name[0]!.toUpperCase()}${name.slice(1)}`
  return endpoint(
    {
      id: `get${title}`,
      method: 'get',
      path: `/api/analytics/${name}`,
      tag: 'Operators',
      summary: figure.summary,
      description: 'Counted from the events, some seconds after them. Days are in UTC.',
      parameters: parametersOf(figure),
      answer: answerOf(figure).meta({ id: title }),
      alternatives: ['text/csv'],
      scope: 'events:read',
      price: 'heavy',
    },
    async (deps: App, { query: { format, ...query }, res }) => {
      const report = await readReport(deps, figure, { limit: LIMIT.default, ...query })
      const { rows, by, from, to } = report
      if (format !== 'csv') return report
      res.set('Content-Disposition', `attachment; filename="${name}-by-${by}-${from}-${to}.csv"`)
      res.type('text/csv; charset=utf-8')
      res.send(
        toReportCsv(
          [by, ...columns, ...NAMES.filter((column) => rows[0]?.[column] !== undefined)],
          rows.map(({ key, ...counted }) => ({ [by]: key, ...counted })),
        ),
      )
      return undefined
    },
  )
}

function parametersOf({ by }: Figure) {
  return {
    from: { schema: dayParameter, description: 'The first day; 29 days before `to` if absent.' },
    to: { schema: dayParameter, description: 'The last day, in the range too; today if absent. At most 366 days.' },
    by: { schema: z.enum(by), description: `One row for each ${by.join(', ')}; ${by[0]} if absent.`, fallback: by[0] },
    limit: {
      schema: limitUpTo(LIMIT.max),
      description: `Rows, the greatest first: ${LIMIT.default}, at most ${LIMIT.max}. Days are never left out.`,
    },
    format: { schema: z.enum(['json', 'csv']), description: 'json (default) or csv.' },
  } as const
}

function answerOf({ by, columns }: Figure) {
  return z.strictObject({
    from: z.iso.date(),
    to: z.iso.date(),
    by: z.enum(by),
    counted_through: z.iso.datetime().nullable().describe('Everything before this time is counted.'),
    rows: z.array(
      z
        .strictObject({ key: z.string().nullable().describe('A day, or what `by` names. Null: the events name none.') })
        .extend({ ...columns, ...(by.includes('frame') ? namedShape : {}) }),
    ),
  })
}
