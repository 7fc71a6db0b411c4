import { execFile } from 'node:child_process'
import { constants, openSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

interface PipeEnds {
  readFd: number
  writeFd: number
}

/**
 * Opens named pipes and unlinks them at once. Node's own pipes to a child allocate new memory for every 64 KiB, and
 * collecting that costs as much as measuring the frames. A socket made from a descriptor reads into memory of ours.
 */
export async function openPipes(folder: string, names: readonly string[]): Promise<PipeEnds[]> {
  const paths = names.map((name) => join(folder, `${name}.pipe`))
  await run('mkfifo', ['-m', '600', ...paths]).catch((cause: Error) => {
    throw Object.assign(
      new Error('Cannot create named pipes in DATA_DIR/scratch.', { cause }),
      /No space/.test(cause.message) ? { code: 'ENOSPC' } : {},
    )
  })
  return paths.map((path) => {
    // The reader opens first and without blocking, so that neither end waits for the other.
    const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writeFd = openSync(path, constants.O_WRONLY)
    unlinkSync(path)
    return { readFd, writeFd }
  })
}

/** Cuts the bytes of a pipe into pieces of one length, each read straight into memory from `allocate`. */
export function readPieces(
  fd: number,
  bytes: number,
  allocate: () => Uint8Array,
  take: (piece: Uint8Array) => void,
): { socket: Socket; ended: Promise<void> } {
  let piece = allocate()
  let filled = 0
  const socket = new Socket({
    fd,
    readable: true,
    writable: false,
    onread: {
      buffer: () => (filled === 0 ? piece : piece.subarray(filled)),
      callback(length) {
        filled += length
        if (filled === bytes) {
          take(piece)
          piece = allocate()
          filled = 0
        }
        return true
      },
    },
  })
  const ended = new Promise<void>((done) => socket.once('close', () => done()))
  socket.on('error', () => {})
  socket.resume()
  return { socket, ended }
}
