import type { Request, Response } from 'express'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { LogTail } from '../events/tail.ts'
import type { CachedReads, ReadModelVersion, TakeTurn, VersionedCache } from '../http/cached-reads.ts'
import type { EventStreams } from '../http/event-stream.ts'
import type { ApiDocument } from '../http/openapi.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import type { SendPieces } from '../http/response-body.ts'
import type { FilmReads } from '../library/films/films.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { LibrarySearch } from '../search/library-search.ts'

/** The documents about the API. What is sent of them is made at the first request and holds until the next release. */
export interface Documents {
  api(): ApiDocument
  /** The whole of it, or the part of a tag. */
  openapi(tag?: string): TextSender
  llms: TextSender
  /** The sender of the schema of an event's data; undefined when there is no such version. */
  dataSchema(type: string, version: string): TextSender | undefined
}

export type TextSender = (req: Request, res: Response) => Promise<void>

/** What operations, tools and pages share. Each takes the few that it needs. */
export interface App {
  config: Config
  publicUrl: string
  logger: Logger
  db: Db
  limits: RateLimits
  search: LibrarySearch
  films: FilmReads
  readModel: ReadModelVersion
  takeTurn: TakeTurn
  /** Answers of open reads. */
  cache: CachedReads
  /** Finished pages, and what they are made of, by the version of what they show. */
  kept: VersionedCache<object>
  sendPieces: SendPieces
  store: MediaStore
  /** An image by its media-store key. */
  readImage: MediaStore['get']
  /** Whether this installation has it. */
  ytdlp: boolean
  /** The live event log, and the open streams that send it. */
  tail: LogTail
  streams: EventStreams
  documents: Documents
  health: {
    /** True once a stop has begun: the load balancer must send new requests elsewhere while those in flight finish. */
    stopping: boolean
  }
}
