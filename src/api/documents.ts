import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Request, Response } from 'express'
import { z } from 'zod'
import { endpoint, type Operation } from '../http/endpoint.ts'
import { isMet } from '../http/etag.ts'
import { type ApiDocument, describeApi } from '../http/openapi.ts'
import { describeForModels } from './llms-text.ts'

export interface DocumentsDeps {
  documents: Documents
}

/** What is written about the API, made at the first request and the same until the next release. */
export interface Documents {
  api(): ApiDocument
  send: Record<'openapi' | 'llms', (req: Request, res: Response) => void>
}

export function openDocuments(options: {
  operations: readonly Operation[]
  publicUrl: string
  version: string
}): Documents {
  const { operations, publicUrl, version } = options
  let described: ApiDocument | undefined
  const api = () => {
    described ??= describeApi({ ...HEAD, info: { ...HEAD.info, version }, servers: [{ url: publicUrl }], operations })
    return described
  }
  return {
    api,
    send: {
      openapi: textSender('application/json; charset=utf-8', () => JSON.stringify(api())),
      llms: textSender('text/plain; charset=utf-8', () => describeForModels({ operations, publicUrl })),
    },
  }
}

export const documentEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/openapi.json',
      tag: 'Service',
      summary: 'This document',
      parameters: {},
      answer: z.looseObject({ openapi: z.string() }),
      errors: [400],
      plain: true,
      cached: true,
    },
    ({ documents }: DocumentsDeps, { req, res }) => {
      documents.send.openapi(req, res)
      return undefined
    },
  ),

  endpoint(
    {
      method: 'get',
      path: '/llms.txt',
      tag: 'Service',
      summary: 'What a language model needs to know to use this service',
      parameters: {},
      answer: 'text/plain',
      errors: [400],
      plain: true,
      cached: true,
    },
    ({ documents }: DocumentsDeps, { req, res }) => {
      documents.send.llms(req, res)
      return undefined
    },
  ),
]

const HEAD = {
  info: {
    title: 'Frame Library',
    license: { name: 'MIT', identifier: 'MIT' },
    description: [
      'A searchable library of video frames.',
      'Reads are open and cached for five minutes; saves and boards need the key of a Pro account.',
      'The same library is a tool server at `POST /api/mcp`.',
    ].join(' '),
  },
  tags: [
    {
      name: 'Library',
      description: 'Open reads. Equal questions in any order share one answer; ETag and 304 save the rest.',
    },
    { name: 'Tool server', description: 'The same library for language models.' },
    { name: 'Account', description: 'Saves and boards of the calling account.' },
    { name: 'Operators', description: 'Queueing videos, corrections, the vocabulary, plans and events.' },
    { name: 'Service', description: 'Health and documents.' },
  ],
}

/** Sends one text, compressed once, with an ETag. */
function textSender(type: string, make: () => string): (req: Request, res: Response) => void {
  let kept: ReturnType<typeof encodings> | undefined
  return (req, res) => {
    kept ??= encodings(make())
    res.set({
      ETag: kept.etag,
      'Cache-Control': 'public, max-age=300',
      Vary: 'Accept-Encoding',
      'Access-Control-Allow-Origin': '*',
    })
    if (isMet(req.headers['if-none-match'], kept.etag)) {
      res.status(304).end()
      return
    }
    const accepted = req.headers['accept-encoding'] ? req.acceptsEncodings('br', 'gzip') : false
    const encoding = accepted === 'br' || accepted === 'gzip' ? accepted : 'identity'
    if (encoding !== 'identity') res.setHeader('Content-Encoding', encoding)
    res.setHeader('Content-Type', type)
    res.setHeader('Content-Length', kept[encoding].length)
    res.end(req.method === 'HEAD' ? undefined : kept[encoding])
  }
}

function encodings(text: string) {
  const identity = Buffer.from(text)
  return {
    etag: `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    identity,
    br: brotliCompressSync(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
    gzip: gzipSync(identity),
  }
}
