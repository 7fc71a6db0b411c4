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

/** What a folder's `MANIFEST.json` lists, and its `*.truth.json` by their names: as people wrote them. */
// biome-ignore lint/suspicious/noExplicitAny: each reader takes what it needs
export function readFolder(folder: string): { listed: any[]; truths: Map<string, any> } {
  const names = readdirSync(folder)
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const manifest = names.includes('MANIFEST.json') ? read('MANIFEST.json') : []
  const truths = names.filter((name) => name.endsWith('.truth.json')).map((name) => [name, read(name)] as const)
  return {
    listed: Array.isArray(manifest) ? manifest : (manifest.files ?? manifest.clips ?? []),
    truths: new Map(truths),
  }
}

/** The clips of a folder whose transitions are known, from its `MANIFEST.json` and `*.truth.json`. */
export function loadClips(folder: string): Clip[] {
  const { listed, truths } = readFolder(folder)
  const clips = new Map<string, Clip>()
  for (const { file, fps, cut_frames, other_transitions } of listed) {
    if (!cut_frames && !other_transitions) continue
    const cuts: Transition[] = (cut_frames ?? []).map((frame: number) => ({ type: 'cut', start: frame, end: frame }))
    clips.set(file, { file, fps, transitions: [...cuts, ...(other_transitions ?? []).map(toTransition)] })
  }
  for (const [name, { video = name.replace('.truth.json', '.mp4'), fps, transitions }] of truths)
    clips.set(video, { file: video, fps, transitions: transitions.map(toTransition) })
  const present = [...clips.values()].filter(({ file }) => existsSync(join(folder, file)))
  if (present.length === 0) throw new Error(`No clips with known transitions in ${folder}.`)
  return present.sort((a, b) => a.file.localeCompare(b.file))
}

function toTransition(entry: { type: string; start_frame: number; end_frame: number }): Transition {
  return { type: entry.type, start: entry.start_frame, end: entry.end_frame }
}

/** The times of a clip's frames in milliseconds. */
export async function readStamps(path: string): Promise<number[]> {
  const wanted = '-v error -select_streams v:0 -show_entries packet=pts_time -of csv=p=0'
  const out = await capture('ffprobe', [...wanted.split(' '), path])
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
