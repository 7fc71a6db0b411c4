import { constants, copyFileSync, fstatSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { complain } from './terminal.ts'

const MAX_BYTES = 20 * 1024 * 1024
const LOOK_EVERY_MS = 5_000
const SAME_AGAIN_MS = 60_000

/**
 * The log of `frames start`: every line goes to `service.log`, warnings and errors to the terminal too. There the same
 * one is shown once a minute.
 * A file that has grown large is moved to `service.log.1`. A full disk loses lines and ends nothing.
 */
export function openServiceLog(
  dataDir: string,
  { maxBytes = MAX_BYTES, lookEveryMs = LOOK_EVERY_MS, show = (line: string) => complain(line) } = {},
) {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'service.log')
  // Appending, so that the file of another writer stays in order after a rotation.
  const fd = openSync(file, 'a', 0o600)
  let quiet = false
  let shown = { line: '', at: 0 }
  let lost = 0
  const append = (line: string) => {
    try {
      if (lost > 0) {
        writeSync(fd, `${JSON.stringify({ level: 40, time: Date.now(), lost, msg: 'log lines were lost' })}\n`)
        lost = 0
      }
      writeSync(fd, line)
    } catch {
      lost++
    }
  }
  const rotate = () => {
    if (sizeOf(fd) > maxBytes) moveAside(file, fd)
  }
  rotate()
  // The worker writes too, so the size is read and not counted.
  const timer = setInterval(rotate, lookEveryMs).unref()
  return {
    file,
    /** For a child process that appends to the same file. */
    fd,
    /** Stops the output to the terminal: warnings during a stop (closed connections) are expected. */
    silence() {
      quiet = true
    },
    write(line: string) {
      append(line)
      if (quiet || !/^\{"level":[456]0/.test(line)) return
      const short = toShortLine(line)
      if (short === shown.line && Date.now() - shown.at < SAME_AGAIN_MS) return
      shown = { line: short, at: Date.now() }
      show(short)
    },
    close: () => clearInterval(timer),
  }
}

function sizeOf(fd: number): number {
  try {
    return fstatSync(fd).size
  } catch {
    return 0
  }
}

/** Copies and empties the file instead of renaming it: the worker keeps its descriptor of the same file. */
function moveAside(file: string, fd: number): void {
  try {
    copyFileSync(file, `${file}.1`, constants.COPYFILE_FICLONE)
  } catch {
    // A full disk. Room is worth more than old lines.
    attempt(() => rmSync(`${file}.1`, { force: true }))
  }
  // A device or pipe has no length.
  attempt(() => ftruncateSync(fd))
}

/** Rotation must not end the service: on a disk that became read-only, nothing can be moved. */
function attempt(act: () => void): void {
  try {
    act()
  } catch {
    // It is tried again at the next look.
  }
}

function toShortLine(line: string): string {
  const { level, msg, err, server, setting, port } = JSON.parse(line) as {
    level: number
    msg?: string
    err?: { message?: string }
    server?: string
    setting?: string
    port?: number
  }
  const advice = setting && `${setting} is ${port}: set it to another port, or to 0 for none`
  const details = [server, advice, err?.message && toReason(err.message)].filter(Boolean).join(': ')
  return `${level >= 50 ? 'error' : 'warning'}: ${msg ?? ''}${details && ` (${details})`}`
}

const PARAMS = '\nparams: '

/** Of a failed query, what PostgreSQL said. The log has the query. */
function toReason(message: string): string {
  const params = message.lastIndexOf(PARAMS)
  const said = params < 0 ? message : message.slice(message.indexOf(': ', params + PARAMS.length - 1) + 2)
  return said.replaceAll(/\s+/g, ' ').trim()
}
