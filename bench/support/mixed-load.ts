import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Router {
  next(): string
  add(url: string): void
  remove(url: string): void
}

/** Sends requests to the processes in turn. */
export function openRouter(urls: string[]): Router {
  let at = 0
  return {
    next: () => urls[at++ % urls.length]!,
    add: (url) => void urls.push(url),
    remove: (url) => void urls.splice(urls.indexOf(url), 1),
  }
}

interface Counts {
  sent: number
  failed: number
}

/** What has been sent and how much of it failed, by kind. */
function openCaller(router: Router, key: string) {
  const kinds = new Map<string, Counts>()
  const failures: string[] = []

  // biome-ignore lint/suspicious/noExplicitAny: two versions answer, and only some fields matter
  async function call(kind: string, path: string, init: RequestInit = {}): Promise<any> {
    const counts = kinds.get(kind) ?? { sent: 0, failed: 0 }
    kinds.set(kind, counts)
    counts.sent++
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers }
    try {
      const answer = await fetch(router.next() + path, { ...init, headers })
      const text = await answer.text()
      if (answer.ok) return JSON.parse(text)
      throw new Error(`${answer.status} ${text.slice(0, 200)}`)
    } catch (error) {
      counts.failed++
      const { message, cause } = error as Error
      failures.push(`${kind} ${path}: ${message} ${(cause as Error | undefined)?.message ?? ''}`)
      return undefined
    }
  }
  return {
    kinds,
    failures,
    call,
    send: (kind: string, method: string, path: string, body: object) =>
      call(kind, path, { method, body: JSON.stringify(body) }),
  }
}

/** What the service has acknowledged, and must hold in the end. */
interface Kept {
  videos: string[]
  saves: Set<string>
  boards: Map<string, Set<string>>
}

export function openLoad(router: Router, key: string, folder: string) {
  const caller = openCaller(router, key)
  const { call, send } = caller
  const kept: Kept = { videos: [], saves: new Set(), boards: new Map() }
  let clips = 0

  async function someFrame(): Promise<string | undefined> {
    const found = await call('wall', '/api/frames')
    const frames: { id: string }[] = found?.frames ?? []
    return frames[Math.floor(Math.random() * frames.length)]?.id
  }

  async function upload(): Promise<void> {
    const film = makeClip(folder, clips++)
    const headers = { 'content-type': 'video/mp4' }
    const answer = await call('upload', `/api/videos?filename=clip-${clips}.mp4`, {
      method: 'POST',
      body: film,
      headers,
    })
    if (answer) kept.videos.push(answer.video.id)
  }

  async function pin(): Promise<void> {
    const [id, board] = [await someFrame(), [...kept.boards.keys()].at(-1)]
    if (!id || !board) return
    if (await send('pin', 'PUT', `/api/boards/${board}/frames/${id}`, {})) kept.boards.get(board)!.add(id)
  }

  async function save(): Promise<void> {
    const id = await someFrame()
    if (id && (await send('save', 'POST', '/api/favourites', { frameId: id }))) kept.saves.add(id)
  }

  async function board(): Promise<void> {
    const made = await send('board', 'POST', '/api/boards', { name: `Board ${kept.boards.size}` })
    if (made) kept.boards.set(made.board.id, new Set())
  }

  return {
    upload,
    /** Every kind of request again and again. Call what it returns to end the load. */
    start() {
      let running = true
      const again = async (act: () => Promise<unknown>, pauseMs: number) => {
        while (running) {
          await act()
          await sleep(pauseMs)
        }
      }
      const search = () => call('search', `/api/search?q=${['clip', 'bright', 'text', 'nothing'][clips % 4]}`)
      const videos = () => call('videos', '/api/videos')
      const loops = [search, videos, save, pin].map((act) => again(act, 25))
      loops.push(again(upload, 6_000), again(board, 500))
      return async () => {
        running = false
        await Promise.all(loops)
      }
    },
    async untilReady() {
      for (const id of kept.videos)
        for (const end = Date.now() + 300_000; Date.now() < end; await sleep(500))
          if (isOver((await call('status', `/api/videos/${id}/status`))?.video?.status)) break
    },
    report: () => report(caller, kept),
  }
}

async function report({ call, kinds, failures }: ReturnType<typeof openCaller>, kept: Kept) {
  const lostJobs: string[] = []
  for (const id of kept.videos) {
    const video = (await call('status', `/api/videos/${id}/status`))?.video
    if (video?.status !== 'ready') lostJobs.push(`${id} ${video?.status} ${video?.failure?.code ?? ''}`)
  }
  const saved = new Set((await call('saves', '/api/favourites'))?.frames.map(({ id }: { id: string }) => id))
  let lostWrites = [...kept.saves].filter((id) => !saved.has(id)).length
  for (const [board, pins] of kept.boards) {
    const found = (await call('boards', `/api/boards/${board}`))?.board
    const pinned = new Set(found?.items.map(({ id }: { id: string }) => id))
    lostWrites += found ? [...pins].filter((id) => !pinned.has(id)).length : 1 + pins.size
  }
  const sum = (of: keyof Counts) => [...kinds.values()].reduce((total, counts) => total + counts[of], 0)
  const pins = [...kept.boards.values()].reduce((total, { size }) => total + size, 0)
  return {
    requests: sum('sent'),
    failed: sum('failed'),
    uploads: kept.videos.length,
    lost_jobs: lostJobs.length,
    writes: kept.saves.size + kept.boards.size + pins,
    lost_writes: lostWrites,
    by_kind: Object.fromEntries(kinds),
    faults: [...failures, ...lostJobs].slice(0, 10),
  }
}

function isOver(status: string | undefined): boolean {
  return status !== undefined && ['ready', 'failed', 'cancelled'].includes(status)
}

/** Three seconds with two scenes, in colours of its own. */
function makeClip(folder: string, n: number): Buffer<ArrayBuffer> {
  const file = join(folder, `clip-${n}.mp4`)
  const inputs = ['testsrc2', 'mandelbrot'].map((scene) => `-f lavfi -t 1.5 -i ${scene}=s=320x180:r=10`).join(' ')
  const graph = `[0:v][1:v]concat=n=2,hue=h=${n * 23},format=yuv420p[v]`
  const command = `-v error -nostdin -y ${inputs} -filter_complex ${graph} -map [v] -c:v libx264`
  execFileSync('ffmpeg', [...command.split(' '), file])
  return readFileSync(file) as Buffer<ArrayBuffer>
}
