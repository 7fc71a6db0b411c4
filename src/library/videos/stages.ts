import type { StageProgress } from '../../db/schema/videos.ts'

/** The stages with this one running at `done` of `total`. Earlier stages are finished, later ones dropped. */
export function advanceStage(
  stages: readonly StageProgress[],
  stage: StageProgress['stage'],
  done: number,
  total: number | null,
): StageProgress[] {
  const now = new Date().toISOString()
  const at = stages.findIndex((entry) => entry.stage === stage)
  const before = stages[at]
  const startedAt = before?.startedAt ?? now
  const movedAt = before?.done === done ? (before.movedAt ?? startedAt) : now
  const earlier = at < 0 ? stages : stages.slice(0, at)
  return [...finishStages(earlier, now), { stage, startedAt, finishedAt: null, movedAt, done, total }]
}

export function finishStages(stages: readonly StageProgress[], now: string): StageProgress[] {
  return stages.map((entry) => ({ ...entry, finishedAt: entry.finishedAt ?? now }))
}

/** How long each finished stage took, for events. */
export function toStageTimes(stages: readonly StageProgress[]) {
  return stages.flatMap(({ stage, startedAt, finishedAt }) => {
    const seconds = finishedAt === null ? Number.NaN : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000
    return seconds >= 0 ? [{ stage, seconds }] : []
  })
}
