import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { parseConfig } from '../../src/config.ts'
import type { Db } from '../../src/db/client.ts'
import { createLogger } from '../../src/logger.ts'
import type { AppOverrides } from '../../src/server/build-app.ts'
import { openApi } from '../../src/server/main.ts'
import { seedLibrary } from './library.ts'
import { openTemporaryDatabase } from './postgres.ts'
import { startTemporaryRedis } from './redis.ts'

export interface PicturedApi {
  url: string
  db: Db
  [Symbol.asyncDispose](): Promise<void>
}

/** The API on a made-up library on databases of its own, with pictures for all frames. */
export async function openPicturedApi({
  frames,
  port = 0,
  readImage,
  overrides,
}: {
  frames: number
  port?: number
  readImage?: (key: string) => Promise<Buffer | undefined>
  overrides?: AppOverrides
}): Promise<PicturedApi> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-pages-'))
  const redis = await startTemporaryRedis({ dir, persistent: false })
  const database = await openTemporaryDatabase()
  if (frames > 0) await seedLibrary(database.db, { frames })
  const config = parseConfig({
    PORT: String(port),
    DATA_DIR: dir,
    ...(port > 0 ? { PUBLIC_URL: `http://localhost:${port}` } : {}),
    RATE_LIMIT_SCALE: '1000000',
  })
  const logger = createLogger({ level: 'warn' })
  const api = await openApi({
    config,
    databaseUrl: database.url,
    redisUrl: redis.url,
    logger,
    port,
    host: '127.0.0.1',
    overrides: { readImage: readImage ?? (await drawnImages()), ...overrides },
  })
  return {
    url: `http://localhost:${api.port}`,
    db: database.db,
    async [Symbol.asyncDispose]() {
      await api.stop()
      await redis.stop()
      await database[Symbol.asyncDispose]()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const DRAWN = 60

/** Drawn pictures of about the size of ours, the same one for a key each time. */
export async function drawnImages(): Promise<(key: string) => Promise<Buffer>> {
  const drawn: { thumb: Buffer; image: Buffer }[] = []
  for (let n = 0; n < DRAWN; n++) {
    const source = Buffer.from(scene(n))
    const [thumb, image] = await Promise.all(
      [480, 1280].map((width) => sharp(source).resize(width).webp({ quality: 75 }).toBuffer()),
    )
    drawn.push({ thumb: thumb!, image: image! })
  }
  return async (key) => {
    const one = drawn[Number.parseInt(key.replace(/(-480)?\.webp$/, '').slice(-6), 16) % DRAWN]!
    return key.endsWith('-480.webp') ? one.thumb : one.image
  }
}

function scene(n: number): string {
  const hue = (n * 47) % 360
  const lines = Array.from({ length: 12 }, (_, line) => {
    const width = 200 + ((n * 97 + line * 53) % 700)
    const fill = `hsl(${hue + line * 6} 60% 70%)`
    return `<rect x="140" y="${90 + line * 46}" width="${width}" height="22" rx="6" fill="${fill}"/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720">
<defs><linearGradient id="g" x2="1" y2="1"><stop stop-color="hsl(${hue} 55% ${n % 2 ? 18 : 78}%)"/>
<stop offset="1" stop-color="hsl(${hue + 70} 45% ${n % 2 ? 30 : 60}%)"/></linearGradient></defs>
<rect width="1280" height="720" fill="url(#g)"/>${lines.join('')}
<circle cx="${900 + (n % 5) * 40}" cy="380" r="${90 + (n % 7) * 20}" fill="hsl(${hue + 180} 60% 55%)"/></svg>`
}
