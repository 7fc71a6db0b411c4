import { createHash } from 'node:crypto'
import sharp from 'sharp'
import { type AnnotateOptions, type Annotator, type Finding, type FrameToAnnotate, toFinding } from '../annotator.ts'

const SIZE = { width: 1280, height: 720 }
const VIDEO = { id: 'check', title: 'Two squares', author: null, durationSec: 2 }
const RED = /\b(red|crimson|scarlet)\b/
const GREEN = /\bgreen\b/

/** Has a model describe a red square and a green one: whether it sees, keeps the form, and thinks; pace and tokens. */
export async function describeSquares(
  annotator: Annotator,
  options: AnnotateOptions,
): Promise<{ findings: Finding[]; seconds: number }> {
  const frames = [await toSquare(0, '#d41414'), await toSquare(1, '#12a012')]
  const { annotations, calls } = await annotator.annotate(VIDEO, frames, options)
  const failed = annotations.find(({ status }) => status !== 'annotated')
  const described = annotations.some(({ status }) => status === 'annotated') ? 'one of two squares' : 'nothing'
  if (failed) return { findings: [toFinding('answer', '', `It described ${described}: ${failed.reason}.`)], seconds: 0 }
  const [first = '', second = ''] = annotations.map(({ values }) => JSON.stringify(values).toLowerCase())
  const sees = RED.test(first) && !GREEN.test(first) && GREEN.test(second) && !RED.test(second)
  const issues = annotations.flatMap(({ issues }) =>
    issues.map(({ attribute = 'answer', code }) => `${attribute} ${code}`),
  )
  const seconds = calls.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000 / frames.length
  const tokens = calls.reduce((sum, { inputTokens, outputTokens }) => sum + (inputTokens ?? 0) + (outputTokens ?? 0), 0)
  const findings = [
    toFinding(
      'sight',
      'a red square and a green one are told apart',
      !sees && 'It does not tell a red square from a green one. Set VISION_MODEL to a model that takes images.',
    ),
    toFinding('form', issues.length === 0 ? 'kept' : `kept in part, what can be read counts (${issues.join(', ')})`),
    toFinding(
      'thinking',
      'off',
      calls.some(({ thought }) => thought) &&
        'It thinks before it answers, which takes time and tokens. Set VISION_MODEL to an -instruct build.',
    ),
    toFinding('pace', `${seconds.toFixed(1)} s and ${Math.round(tokens / frames.length)} tokens a frame`),
  ]
  return { findings, seconds }
}

async function toSquare(tSec: number, colour: string): Promise<FrameToAnnotate> {
  const square = { input: { create: { width: 480, height: 480, channels: 3 as const, background: colour } } }
  const image = await sharp({ create: { ...SIZE, channels: 3, background: '#ffffff' } })
    .composite([square])
    .webp()
    .toBuffer()
  return {
    ...SIZE,
    ...{ id: `check-${tSec}`, tSec, kind: 'beat', reason: 'check', image, luma: 200, tone: 'bright', motion: 0 },
    imageSha256: createHash('sha256').update(image).digest('hex'),
  }
}
