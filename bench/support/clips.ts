import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Transition {
  type: string
  start: number
  end: number
}

export interface Clip {
  file: string
  fps: number
  transitions: Transition[]
}

export function defaultFolder(): string {
  return fileURLToPath(new URL('../../../shared/videos', import.meta.url))
}

/** The clips of a folder whose transitions are known, from its `MANIFEST.json` and `*.truth.json`. */
export function loadClips(folder: string): Clip[] {
  const clips = new Map<string, Clip>()
  if (existsSync(join(folder, 'MANIFEST.json'))) {
    const parsed = JSON.parse(readFileSync(join(folder, 'MANIFEST.json'), 'utf8'))
    for (const entry of Array.isArray(parsed) ? parsed : (parsed.files ?? parsed.clips ?? [])) {
      if (!entry.cut_frames && !entry.other_transitions) continue
      const cuts: Transition[] = (entry.cut_frames ?? []).map((frame: number) => ({
        type: 'cut',
        start: frame,
        end: frame,
      }))
      clips.set(entry.file, {
        file: entry.file,
        fps: entry.fps,
        transitions: [...cuts, ...(entry.other_transitions ?? []).map(toTransition)],
      })
    }
  }
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.truth.json'))) {
    const truth = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    const file = truth.video ?? name.replace('.truth.json', '.mp4')
    clips.set(file, { file, fps: truth.fps, transitions: truth.transitions.map(toTransition) })
  }
  const present = [...clips.values()].filter(({ file }) => existsSync(join(folder, file)))
  if (present.length === 0) throw new Error(`No clips with known transitions in ${folder}.`)
  return present.sort((a, b) => a.file.localeCompare(b.file))
}

function toTransition(entry: { type: string; start_frame: number; end_frame: number }): Transition {
  return { type: entry.type, start: entry.start_frame, end: entry.end_frame }
}

/** The times of a clip's frames in milliseconds. */
export async function readStamps(path: string): Promise<number[]> {
  const out = await capture('ffprobe', [
    '-v',
    'error',
    '-select_streams',
    'v:0',
    '-show_entries',
    'packet=pts_time',
    '-of',
    'csv=p=0',
    path,
  ])
  return out
    .split('\n')
    .map((line) => Number.parseFloat(line) * 1000)
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
}

export async function capture(program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout!) chunks.push(chunk as Buffer)
  await closed
  return Buffer.concat(chunks).toString('utf8')
}
