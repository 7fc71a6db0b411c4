import { z } from 'zod'
import { quote } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import { FIGURES, type Figure } from '../../library/analytics/figures.ts'
import { dayParameter, readReport } from '../../views/analytics.ts'
import { defineTool, READS, type Tool, type ToolApp } from '../tool.ts'
import { limitArgument } from '../values.ts'
import { rightsOf } from './collection.ts'

const figures: Record<string, Figure> = FIGURES
const subjects = Object.keys(FIGURES) as (keyof typeof FIGURES)[]
const splits = [...new Set(Object.values(figures).flatMap(({ by }) => by))]

// The pattern of a day would be half of the definition.
const day = z.string().pipe(dayParameter).optional()

/** The figures of `/api/analytics`, for operators. */
export function report(deps: ToolApp): Tool {
  return defineTool({
    name: 'usage_report',
    title: 'Usage figures',
    description:
      'How the library is used: what was saved, and searched for, without a result or with a weak one. ' +
      'saves by frame, video, brand or technique; searches by term or asker.',
    annotations: READS,
    ...rightsOf('getAnalyticsSaves'),
    input: z.strictObject({
      of: z.enum(subjects).default('saves'),
      by: z.enum(splits).optional(),
      from: day.describe('29 days before to, if absent'),
      to: day.describe('Today, if absent'),
      limit: limitArgument(20, 100),
    }),
    output: z.object({
      from: z.string(),
      to: z.string(),
      by: z.string(),
      counted_through: z.string().nullable(),
      rows: z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()]))),
    }),
    async run({ of, ...asked }) {
      const figure = figures[of]!
      if (asked.by !== undefined && !figure.by.includes(asked.by))
        throw invalid('by', `by: ${of} are split by ${figure.by.join(', ')}.`, figure.by)
      const found = await readReport(deps, figure, asked)
      const { from, to, by, counted_through: through } = found
      const heading = `${of} by ${by}, ${from} to ${to}, counted through ${through ?? 'nothing yet'}`
      const rows = found.rows.map((row) => lineOf(row, Object.keys(figure.columns)))
      return { text: [heading, ...(rows.length > 0 ? rows : ['Nothing in these days.'])].join('\n'), structured: found }
    },
  })
}

function lineOf({ key, title, author, image_url, ...row }: ReportRow, columns: readonly string[]): string {
  const counted = columns.flatMap((name) => (row[name] === null ? [] : `${name} ${row[name]}`)).join(', ')
  const named = title ? ` ${quote(title, 80)}${author ? ` by ${quote(author, 40)}` : ''}` : ''
  return `${key === null ? '(none named)' : quote(key, 80)}${named}: ${counted}${image_url ? `\n${image_url}` : ''}`
}

type ReportRow = Awaited<ReturnType<typeof readReport>>['rows'][number]
