import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'
import { z } from 'zod'
import { notFound } from '../errors.ts'
import { endpoint, type Operation } from '../http/endpoint.ts'
import { type ApiDocument, describeApi } from '../http/openapi.ts'
import { CompressibleBody, isNoneMatchMet, preferredEncoding, sendBody } from '../http/response-body.ts'
import { describeData, describeEvents, type EventDocument } from './asyncapi.ts'
import { describeForModels, type ToolNames } from './llms-text.ts'

export interface DocumentsDeps {
  documents: Documents
}

/** The documents about the API. They are made at the first request and do not change until the next release. */
export interface Documents {
  api(): ApiDocument
  events(): EventDocument
  send: Record<'openapi' | 'asyncapi' | 'llms', TextSender>
  /** The sender of the schema of an event's data; undefined when there is no such version. */
  dataSchema(type: string, version: string): TextSender | undefined
}

type TextSender = (req: Request, res: Response) => Promise<void>

export function openDocuments(options: {
  operations: readonly Operation[]
  tools: ToolNames
  publicUrl: string
  version: string
}): Documents {
  const { operations, tools, publicUrl, version } = options
  let described: ApiDocument | undefined
  const api = () => {
    described ??= describeApi({ ...HEAD, info: { ...HEAD.info, version }, servers: [{ url: publicUrl }], operations })
    return described
  }
  let describedEvents: EventDocument | undefined
  const events = () => {
    describedEvents ??= describeEvents({ publicUrl, version })
    return describedEvents
  }
  const schemas = new Map<string, TextSender>()
  return {
    api,
    events,
    dataSchema(type, dataVersion) {
      const key = `${type}/${dataVersion}`
      const known = schemas.get(key)
      if (known) return known
      const schema = describeData(type, dataVersion, publicUrl)
      if (!schema) return undefined
      const sender = textSender('application/schema+json', () => JSON.stringify(schema))
      schemas.set(key, sender)
      return sender
    },
    send: {
      openapi: textSender('application/json; charset=utf-8', () => JSON.stringify(api())),
      asyncapi: textSender('application/json; charset=utf-8', () => JSON.stringify(events())),
      llms: textSender('text/plain; charset=utf-8', () => describeForModels({ operations, tools, publicUrl })),
    },
  }
}

/** A document that needs no store and stays the same until the next release. */
const fixed = { method: 'get', tag: 'Service', parameters: {}, plain: true, cached: true } as const

export const documentEndpoints = [
  endpoint(
    {
      ...fixed,
      id: 'getOpenApiDocument',
      path: '/openapi.json',
      summary: 'This document',
      answer: z.looseObject({ openapi: z.string() }),
      errors: [400],
    },
    sending('openapi'),
  ),

  endpoint(
    {
      ...fixed,
      id: 'getAsyncApiDocument',
      path: '/asyncapi.json',
      summary: 'The events, as an AsyncAPI document',
      answer: z.looseObject({ asyncapi: z.string() }),
      errors: [400],
    },
    sending('asyncapi'),
  ),

  endpoint(
    {
      ...fixed,
      id: 'getEventSchema',
      path: '/schemas/events/:type/:version',
      summary: 'The JSON schema of the data of an event: what `dataschema` names',
      answer: 'application/schema+json',
      errors: [400, 404],
    },
    async ({ documents }: DocumentsDeps, { params, req, res }) => {
      const send = documents.dataSchema(params.type, params.version)
      if (!send) throw notFound('version of an event')
      await send(req, res)
      return undefined
    },
  ),

  endpoint(
    {
      ...fixed,
      id: 'getLlmsText',
      path: '/llms.txt',
      summary: 'What a language model needs to know to use this service',
      answer: 'text/plain',
      errors: [400],
    },
    sending('llms'),
  ),
]

function sending(name: keyof Documents['send']) {
  return async ({ documents }: DocumentsDeps, { req, res }: { req: Request; res: Response }) => {
    await documents.send[name](req, res)
    return undefined
  }
}

const HEAD = {
  info: {
    title: 'Frame Library',
    license: { name: 'MIT', identifier: 'MIT' },
    description: [
      'A searchable library of video frames.',
      'Reads need no key and are cached for five minutes. Saves and boards need the key of a Pro account.',
      'AI agents use the same library through MCP at `POST /api/mcp`.',
    ].join(' '),
  },
  tags: [
    {
      name: 'Library',
      description:
        'Reads that need no key. The order of parameters does not matter. Send the `ETag` back to get a 304.',
    },
    { name: 'Films', description: 'How films are built, and how they compare. These reads need no key either.' },
    { name: 'Tool server', description: 'The same library for AI agents (MCP).' },
    { name: 'Account', description: 'Saves and boards of the calling account.' },
    { name: 'Operators', description: 'Queueing videos, corrections, the vocabulary, plans and events.' },
    { name: 'Webhooks', description: 'Receivers of events, and what was sent to them. Signed by Standard Webhooks.' },
    { name: 'Service', description: 'Health and documents.' },
  ],
}

/** Sends one text, compressed once, with an ETag. */
function textSender(type: string, make: () => string): TextSender {
  let kept: { body: CompressibleBody; etag: string } | undefined
  return async (req, res) => {
    kept ??= withTag(new CompressibleBody(make()))
    const { body, etag } = kept
    res.set({
      ETag: etag,
      'Cache-Control': 'public, max-age=300',
      Vary: 'Accept-Encoding',
      'Access-Control-Allow-Origin': '*',
    })
    if (isNoneMatchMet(req.headers['if-none-match'], etag)) res.status(304).end()
    else await sendBody(req, res, body, { type, encoding: preferredEncoding(req) })
  }
}

function withTag(body: CompressibleBody) {
  const digest = createHash('sha256').update(body.bytes).digest('base64url')
  return { body, etag: `W/"${digest.slice(0, 22)}"` }
}
