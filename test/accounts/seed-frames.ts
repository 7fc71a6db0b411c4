import { randomBytes } from 'node:crypto'
import type { Db } from '../../src/db/client.ts'
import type { Role } from '../../src/db/schema/accounts.ts'
import { frames } from '../../src/db/schema/frames.ts'
import { videos } from '../../src/db/schema/videos.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import type { Scope } from '../../src/library/accounts/key-checks.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import type { Plan } from '../../src/vocabulary.ts'

const measured = { source: 'measured' as const, confidence: 1, by: 'test', at: '2026-01-01T00:00:00.000Z' }

/** A public video (unless `ready` is false) with frames one second apart. */
export async function seedFrames(db: Db, { count = 3, ready = true }: { count?: number; ready?: boolean } = {}) {
  const videoId = randomBytes(6).toString('hex')
  const at = new Date()
  await db.insert(videos).values({
    id: videoId,
    sourceKey: `url:https://example.org/${videoId}`,
    sourceUrl: `https://example.org/${videoId}`,
    title: `Launch ${videoId}`,
    author: 'Acme, Inc.',
    platform: 'web',
    durationSec: count,
    status: ready ? 'ready' : 'annotating',
    ...(ready ? { firstReadyAt: at, readyAt: at } : {}),
  })
  const frameIds = Array.from({ length: count }, (_, n) => `${videoId}-${(n * 1000).toString(36)}`)
  await db.insert(frames).values(
    frameIds.map((id, n) => ({
      id,
      videoId,
      tMs: n * 1000,
      kind: 'beat',
      reason: 'test',
      width: 1280,
      height: 720,
      imageKey: `frames/${id}.webp`,
      thumbKey: `frames/${id}-480.webp`,
      imageBytes: 1,
      imageSha256: randomBytes(32).toString('hex'),
      placeholder: 'AA==',
      luma: 100,
      darkShare: 0.5,
      palette: ['#000000', '#111111', '#222222', '#333333', '#444444'],
      paletteShares: [0.2, 0.2, 0.2, 0.2, 0.2],
      coloredShare: 0,
      sharpness: 1,
      motion: 0,
      phash: '0000000000000000',
      tone: 'dark',
      toneProvenance: measured,
      kindProvenance: measured,
      subject: 'ui',
      caption: `=a frame, number ${n}`,
    })),
  )
  return { videoId, frameIds }
}

let made = 0

export async function seedAccount(
  db: Db,
  { plan = 'pro', role = 'member', scopes }: { plan?: Plan; role?: Role; scopes?: Scope[] } = {},
) {
  const account = await createAccount(db, { email: `person${++made}@example.org`, plan, role })
  const { key, record } = await createKey(db, { accountId: account.id, name: 'test', scopes })
  return { account, key, record }
}
