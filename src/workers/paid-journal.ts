import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Db, isConnectionLoss } from '../db/client.ts'
import { answerCache } from '../library/annotator/answer-cache.ts'
import { settleCall } from '../library/annotator/vision-spending.ts'
import type { Logger } from '../logger.ts'
import type { AnnotatorCall } from '../vision/annotator.ts'
import type { AnswerCache, AnswerKey, CachedAnswer } from '../vision/model/answer.ts'

/** A paid call to settle, or its answer to keep. Both are idempotent. */
const Entry = z.union([
  z.object({ kind: z.literal('call'), id: z.number(), videoId: z.string(), call: z.custom<AnnotatorCall>() }),
  z.object({ kind: z.literal('answer'), key: z.custom<AnswerKey>(), answer: z.custom<CachedAnswer>() }),
])
type Entry = z.infer<typeof Entry>

const RETRY_MS = 500

export interface PaidJournal {
  /** The answer cache in PostgreSQL. During an outage answers are kept here. */
  answers: AnswerCache
  settle(id: number, videoId: string, call: AnnotatorCall): Promise<void>
  /** Writes the kept entries, as far as PostgreSQL accepts them. */
  flush(): Promise<void>
  /** Resolves when PostgreSQL has everything, or when the signal fires. */
  written(signal: AbortSignal): Promise<void>
}

/**
 * Keeps paid answers in files while PostgreSQL is unavailable, across restarts too. So nothing is paid for twice or
 * missing in the books. Processes may share the folder.
 */
export async function openPaidJournal({
  db,
  folder,
  logger,
}: {
  db: Db
  folder: string
  logger: Logger
}): Promise<PaidJournal> {
  const cache = answerCache(db)
  const kept = await loadKept(folder, logger)
  const running = new Set<Promise<void>>()
  let flushing: Promise<void> | undefined

  const write = (entry: Entry) =>
    entry.kind === 'call' ? settleCall(db, entry.id, entry.videoId, entry.call) : cache.set(entry.key, entry.answer)

  async function keep(entry: Entry): Promise<void> {
    if (kept.size === 0) {
      const failure = await write(entry).then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      if (!failure) return
      logger.warn({ err: failure.error }, 'paid answer kept on disk until PostgreSQL takes it')
    }
    const name = `${randomUUID()}.json`
    kept.set(name, entry)
    // On a full disk the entry lives as long as the process.
    await save(folder, name, entry).catch((error: unknown) =>
      logger.error({ err: error }, 'paid answer cannot be kept on disk'),
    )
  }

  function begin(entry: Entry): Promise<void> {
    const task = keep(entry).finally(() => running.delete(task))
    running.add(task)
    return task
  }

  async function flushAll(): Promise<void> {
    for (const [name, entry] of kept) {
      try {
        await write(entry)
      } catch (error) {
        if (isConnectionLoss(error)) return
        logger.error({ err: error, entry: entry.kind }, 'paid answer given up')
      }
      await rm(join(folder, name), { force: true })
      kept.delete(name)
    }
  }

  function flush(): Promise<void> {
    flushing ??= flushAll().finally(() => {
      flushing = undefined
    })
    return flushing
  }

  return {
    answers: {
      get: (key) => cache.get(key),
      set: (key, answer) => begin({ kind: 'answer', key, answer }),
    },
    settle: (id, videoId, call) => begin({ kind: 'call', id, videoId, call }),
    flush,
    async written(signal) {
      for (;;) {
        await Promise.allSettled(running)
        await flush()
        if (kept.size === 0 || signal.aborted) return
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    },
  }
}

/** Loads the entries that an earlier process left in the folder. */
async function loadKept(folder: string, logger: Logger): Promise<Map<string, Entry>> {
  const kept = new Map<string, Entry>()
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith('.json')) continue
    try {
      kept.set(name, Entry.parse(JSON.parse(await readFile(join(folder, name), 'utf8'))))
    } catch (error) {
      logger.error({ err: error, name }, 'paid answer on disk cannot be read')
    }
  }
  return kept
}

/** Writes a file atomically, and durably before it returns. */
async function save(folder: string, name: string, entry: Entry): Promise<void> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, name)
  const file = await open(`${path}.part`, 'w')
  try {
    await file.writeFile(JSON.stringify(entry))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.part`, path)
}
