import { constants, openAsBlob } from 'node:fs'
import { access } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { type DraftReport, tellScore } from '../views/draft.ts'
import { configOrExit, keyFor, readRunFile } from './context.ts'
import { CliError, EXIT } from './failure.ts'
import { addExamples, print } from './terminal.ts'

interface DraftOptions {
  url?: string
  key?: string
  keep?: boolean
  json?: boolean
}

/** `frames draft`: measures an unpublished film against the library of a running service. */
export function defineDraft(command: Command): void {
  addExamples(command, 'draft cut.mp4', 'draft https://example.com/cut.mp4 --keep', 'draft cut.mp4 --json')
    .argument('<source>', 'a file or an https URL')
    .option('--url <address>', 'another service than the local one or PUBLIC_URL')
    .option('--key <key>', 'your key (default: FRAMES_KEY, or without --url that of the first start)')
    .option('--keep', 'leave the draft there until it ends by itself after a day')
    .action(score)
}

async function score(source: string, { url, key, keep, json }: DraftOptions): Promise<void> {
  const config = configOrExit()
  const base = (url ?? readRunFile(config.dataDir)?.api ?? config.publicUrl).replace(/\/+$/, '')
  const named = key ?? (process.env.FRAMES_KEY || undefined)
  const authorization = `Bearer ${keyFor(base, config, { key: named, url, others: ' or FRAMES_KEY' })}`
  const ask = async (method: string, path: string, body?: BodyInit, headers: object = {}) => {
    const init = { method, headers: { authorization, ...headers }, ...(body === undefined ? {} : { body }) }
    const answer = await fetch(base + path, init).catch(() => undefined)
    if (!answer)
      throw new CliError(`No service answers at ${base}. Start it, or name another with --url.`, EXIT.unavailable)
    const read = (await answer.json().catch(() => ({}))) as { draft: DraftReport; message?: string; code?: string }
    if (!answer.ok) throw new CliError(read.message ?? `${base} answers ${answer.status} ${read.code ?? ''}`.trim())
    return read
  }
  let { draft } = await ask('POST', ...(await toBody(source)))
  const path = `/api/drafts/${draft.id}`
  while (draft.state !== 'ready' && draft.state !== 'failed') {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    draft = (await ask('GET', path)).draft
  }
  if (!keep) await ask('DELETE', path)
  const { title, score: found } = draft
  print(json, { draft }, () => (found ? [title, ...tellScore(found, (text) => `“${text}”`)] : []))
  if (draft.failure) throw new CliError(draft.failure.message)
}

async function toBody(source: string): Promise<[path: string, body: BodyInit, headers: object]> {
  if (/^https?:/i.test(source))
    return ['/api/drafts', JSON.stringify({ url: source }), { 'content-type': 'application/json' }]
  await access(source, constants.R_OK).catch(() => {
    throw new CliError(`${source} cannot be read. Name a file, or an https URL.`)
  })
  const path = `/api/drafts?filename=${encodeURIComponent(basename(source))}`
  return [path, await openAsBlob(source), { 'content-type': 'application/octet-stream' }]
}
